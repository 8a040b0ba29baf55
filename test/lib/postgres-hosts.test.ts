import { expect, test } from 'vitest';
import { addressesOf, InvalidAddress } from '../../src/lib/postgres-hosts.js';

test.each<readonly [url: string, addresses: readonly string[]]>([
  ['postgres://u:p@a/x', ['postgres://u:p@a/x']],
  ...[
    'postgres:///x?host=/run/postgresql&port=5433',
    'postgres://%2Frun%2Fpostgresql/x',
    'postgres://u:p@w%@[::1]:5432/x',
    'postgres://u:p@/x',
    'postgres://a:/x?user=u@b',
  ].map((url) => [url, [url]] as const),
  [
    'postgres://a:5432,b:5433/x?target_session_attrs=read-write',
    [
      'postgres://a:5432/x?target_session_attrs=read-write',
      'postgres://b:5433/x?target_session_attrs=read-write',
    ],
  ],
  ['postgresql://u@a:, b/x', ['postgresql://u@a:/x', 'postgresql://u@b/x']],
  [
    'postgres://u:a,b@c@[::1]:5,d.example/x',
    ['postgres://u:a,b@c@[::1]:5/x', 'postgres://u:a,b@c@d.example/x'],
  ],
])('%s names %j', (url, addresses) => expect(addressesOf(url)).toEqual(addresses));

test.each([
  ['postgres://u:hidden@a,,b/x', 'host 2 is empty'],
  ['postgres://u:hidden@a,b:0/x', 'the port of host 2 must be from 1 to 65535'],
  ['postgres://u:hidden@a,b:70000/x', 'the port of host 2 must be from 1 to 65535'],
  ['postgres://u,v:hidden/more@a,b/x', 'has an @ after the host: in a user name or password, / ? and # are'],
  ['postgres://u:hidden@[::1,b/x', 'host 1 is not of the form'],
  ['postgres://u:hidden@a:65536/x', 'the port of the host must be from 1 to 65535'],
  [
    'postgres://u:hidden@a:5x/x',
    'the host is not of the form name or name:port (in a user name or password, /',
  ],
  ['postgres://u:hidden@:5432/x', 'the host is not of the form name or name:port'],
  ['postgres://u:hidden@a/x?port=99999', 'the parameter port must be from 1 to 65535'],
  [
    'postgres://u:hidden/more@a',
    'has an @ after the host: in a user name or password, / ? and # are written',
  ],
  ['postgres://u:5/hidden@a/x', 'has an @ after the host'],
  ['postgres://u:5?hidden@a/x', 'has an @ after the host'],
  ['postgres://u:5#hidden@a/x', 'has an @ after the host'],
  ['postgres://u:hidden%ff@a/x', 'has a % that encodes no character: write it as %25'],
  ['postgres://', 'must have the form postgres://user:password@host:port/name'],
  ['postgresql:///', 'must have the form postgres://user:password@host:port/name'],
  ['postgres://u:hidden@a,b/x?target_session_attrs=standby', 'target_session_attrs must be read-write'],
  ['postgres://u:hidden@/x?host=a,b', 'several hosts stand before the name'],
  ['postgres://u:hidden@a,b/x?port=5', 'names hosts in two places'],
  ['mysql://u:hidden@a/x', 'must have the form postgres://user:password@host:port/name'],
])('%s is refused: %s', (url, message) => {
  expect(() => addressesOf(url)).toThrow(InvalidAddress);
  expect(() => addressesOf(url)).toThrow(message);
  expect(() => addressesOf(url)).not.toThrow('hidden');
});
