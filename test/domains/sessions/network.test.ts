import { isIPv6 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { networkOf } from '../../../src/domains/sessions/network.js';

describe('a client’s address counts', () => {
  test.each([
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::1.2.3.4', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:0:0:0:1::', '2001:db8:0:0::/64'],
    ['2001:db8::3:4:5:6:7', '2001:db8:0:3::/64'],
    ['1:0:0:4:0:0:0:8', '1:0:0:4::/64'],
    ['::2:3:4:5:6:7:8', '0:2:3:4::/64'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['fe80::2%an.other', 'fe80:0:0:0::/64'],
  ])('as its /64 if it is IPv6: %s as %s', (ip, network) => {
    expect(networkOf(ip)).toBe(network);
  });

  test.each(['::ffff:192.0.2.1', '::FFFF:c000:201', '0:0:0:0:0:ffff:192.0.2.1', '::ffff:192.0.2.1%eth0'])(
    'as its IPv4 address if it is IPv4-mapped: %s',
    (ip) => {
      expect(networkOf(ip)).toBe('192.0.2.1');
    },
  );

  test.each([
    ['203.0.113.7:51234', '203.0.113.7'],
    ['[2001:db8::1]:443', '2001:db8:0:0::/64'],
    ['[2001:db8::2]', '2001:db8:0:0::/64'],
    ['[fe80::1%eth0]:80', 'fe80:0:0:0::/64'],
    ['[::ffff:192.0.2.1]:65535', '192.0.2.1'],
  ])('without its port: %s as %s', (client, network) => {
    expect(networkOf(client)).toBe(network);
  });

  test.each(['192.0.2.1', '192.0.2.2', '', 'unknown', '::ffff:', '1:2', 'fe80::1%'])(
    'as itself otherwise: %j',
    (ip) => {
      expect(networkOf(ip)).toBe(ip);
    },
  );

  test.each(['[192.0.2.1]:80', '[unknown]:80', '[::1]x', '1.2.3:80', '1.2.3.256:80', '1.2.3.4:', 'name:80'])(
    'unchanged if it is not an address: %j',
    (client) => {
      expect(networkOf(client)).toBe(client);
    },
  );

  test('as its first 64 bits alone, however it is written', () => {
    const half = fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 4, maxLength: 4 });
    const spell = (groups: readonly number[], short: boolean) => {
      const full = groups.map((group) => group.toString(16).padStart(4, '0')).join(':');
      return short ? new URL(`http://[${full}]/`).hostname.slice(1, -1) : full.toUpperCase();
    };
    fc.assert(
      fc.property(half, half, half, fc.boolean(), (first, second, other, short) => {
        fc.pre(first.some((group) => group > 0));
        const one = spell([...first, ...second], short);
        expect(isIPv6(one)).toBe(true);
        const network = `${first.map((group) => group.toString(16)).join(':')}::/64`;
        expect([networkOf(one), networkOf(spell([...first, ...other], !short))]).toEqual([network, network]);
      }),
    );
  });
});
