import type { IncomingMessage } from 'node:http';
import proxyAddress from '@fastify/proxy-addr';
import { describe, expect, test, vi } from 'vitest';
import { createCallerOfRequest, trustProxyOf } from '../../../src/server/http/client-address.js';
import { networkCaller } from '../../../src/lib/memory/memory-ledger.js';

/** A request by way of proxies, the nearest last, from `remoteAddress`; `look` is called when the list is read. */
function requestBy(proxies: readonly string[], look = (): void => undefined): IncomingMessage {
  const headers = {
    get 'x-forwarded-for'() {
      look();
      return proxies.join(', ');
    },
  };
  return { headers, socket: { remoteAddress: '10.0.0.1' } } as unknown as IncomingMessage;
}

/** So many addresses of trusted proxies behind that of a client. */
const chain = (hops: number) => ['203.0.113.1', ...Array.from({ length: hops - 1 }, () => '10.0.0.2')];

describe.each([
  ['ranges', ['10.0.0.0/8', 'fd00::/8']],
  ['a count', 1_000],
])('with trusted proxies given as %s', (_, proxies) => {
  test('a client is known behind a hundred of them; beyond, no address is looked at', () => {
    const callerOf = createCallerOfRequest(proxies);
    expect(callerOf(requestBy(chain(100)))).toBe(networkCaller('203.0.113.1'));
    expect(callerOf(requestBy(chain(101)))).toBe(networkCaller('10.0.0.2'));
    const trust = trustProxyOf(proxies);
    expect(trust && proxyAddress.all(requestBy(chain(1_900)), trust)).toHaveLength(101);
  });

  test('the addresses of a request are compared once', () => {
    const callerOf = createCallerOfRequest(proxies);
    const look = vi.fn<() => void>();
    const request = requestBy(chain(3), look);
    const first = callerOf(request);
    const looks = look.mock.calls.length;
    expect(callerOf(request)).toBe(first);
    // Only whether there are any.
    expect(look).toHaveBeenCalledTimes(looks + 1);
    expect(callerOf(requestBy(chain(3)))).toBe(networkCaller('203.0.113.1'));
  });
});
