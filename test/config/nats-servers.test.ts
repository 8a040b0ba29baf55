import { expect, test } from 'vitest';
import { natsServers } from '../../src/config/nats-servers.js';

test.each([
  ['nats://nats.example', { servers: ['nats.example:4222'], tls: false }],
  ['tls://a.example:4333,tls://b.example', { servers: ['a.example:4333', 'b.example:4222'], tls: true }],
  ['nats://a:1, b:2', { servers: ['a:1', 'b:2'], tls: false }],
  ['nats://[::1]:4222/', { servers: ['[::1]:4222'], tls: false }],
  ['nats://me:p%40ss@a,nats://b', { servers: ['a:4222', 'b:4222'], tls: false, user: 'me', pass: 'p@ss' }],
  ['nats://me:100%@a', { servers: ['a:4222'], tls: false, user: 'me', pass: '100%' }],
  ['nats://token@a', { servers: ['a:4222'], tls: false, token: 'token' }],
])('%s', (text, expected) => {
  expect(natsServers.parse(text)).toEqual(expected);
});

const form = 'must be nats://host:port or tls://host:port, or several with commas between them';

test.each([
  [',', form],
  ['http://me:hidden@nats.example', form],
  ['nats://me:hidden@:4222', form],
  ['nats://me:hidden@nats.example:port', form],
  ['nats://me:hidden@nats.example/path', form],
  ['nats://me:hidden@a?x=1', form],
  ['nats://me:hidden@a,tls://b', 'must have the same scheme, nats:// or tls://, for all servers'],
  ['nats://me:hidden@a,nats://me:other@b', 'must have the same user and password, or token, for all servers'],
])('%s is refused, without showing it', (text, message) => {
  const { error } = natsServers.safeParse(text);
  expect(error?.issues.map((issue) => issue.message)).toEqual([message]);
});
