import { expect, test } from 'vitest';
import { socketAddress } from '../../src/sandbox/webhook-sender.js';

test.each([
  ['http://127.0.0.1:4000', '127.0.0.1', 4000],
  ['http://[::1]:4000', '::1', 4000],
  ['http://[::]:4000', '::', 4000],
  ['http://[::1]', '::1', 80],
  ['http://gateway.example', 'gateway.example', 80],
  ['https://gateway.example', 'gateway.example', 443],
])('%s is reached at %s, port %i', (url, host, port) => {
  expect(socketAddress(url)).toEqual({ host, port });
});
