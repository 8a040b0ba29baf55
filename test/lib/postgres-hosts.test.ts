import { expect, test } from 'vitest';
import { addressesOf, InvalidAddress } from '../../src/lib/postgres-hosts.js';

test.each<readonly [url: string, addresses: readonly string[]]>([
  ['postgres://u:p@a/x', ['postgres://u:p@a/x']],
  ['postgres:///x?host=/run/postgresql', ['postgres:///x?host=/run/postgresql']],
  [
    'postgres://a:5432,b:5433/x?target_session_attrs=read-write',
    [
      'postgres://a:5432/x?target_session_attrs=read-write',
      'postgres://b:5433/x?target_session_attrs=read-write',
    ],
  ],
  ['postgresql://u@a, b/x', ['postgresql://u@a/x', 'postgresql://u@b/x']],
  [
    'postgres://u:a,b@c@[::1]:5,d.example/x',
    ['postgres://u:a,b@c@[::1]:5/x', 'postgres://u:a,b@c@d.example/x'],
  ],
])('%s names %j', (url, addresses) => expect(addressesOf(url)).toEqual(addresses));

test.each([
  ['postgres://u:hidden@a,,b/x', 'host 2 is empty'],
  ['postgres://u:hidden@a,b:0/x', 'host 2 is not of the form name or name:port'],
  ['postgres://u:hidden@a,b:70000/x', 'host 2 is not of the form'],
  ['postgres://u:hidden@a:,b/x', 'host 1 is not of the form'],
  [
    'postgres://u,v:hidden/more@a,b/x',
    'host 2 is not of the form name or name:port (in a password, / @ and ,',
  ],
  ['postgres://u:hidden@[::1,b/x', 'host 1 is not of the form'],
  ['postgres://u:hidden@a,b/x?target_session_attrs=standby', 'target_session_attrs must be read-write'],
  ['postgres://u:hidden@/x?host=a,b', 'several hosts stand before the name'],
  ['postgres://u:hidden@a,b/x?port=5', 'names hosts in two places'],
  ['mysql://u:hidden@a/x', 'must have the form postgres://user:password@host:port/name'],
])('%s is refused: %s', (url, message) => {
  expect(() => addressesOf(url)).toThrow(InvalidAddress);
  expect(() => addressesOf(url)).toThrow(message);
  expect(() => addressesOf(url)).not.toThrow('hidden');
});
