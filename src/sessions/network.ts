import { isIPv4, isIPv6, SocketAddress } from 'node:net';

const mapped = '::ffff:';
/** An address in brackets, or one of IPv4, with the port that some proxies write behind it. */
const withPort = /^(?:\[([^[\]]+)\]|(\d+(?:\.\d+){3}))(?::\d+)?$/;
const groupsOf = (address: string) => address.split(':').filter((group) => group !== '');

/**
 * What a client's address is counted as: one of IPv6 as its /64, since whoever has one of those has them all; one that
 * stands for an address of IPv4 as that; any other as itself. A port behind it does not count.
 */
export function networkOf(client: string): string {
  const ip = addressIn(client);
  if (!isIPv6(ip)) return ip;
  // In the one spelling that RFC 5952 leaves, without its zone.
  const { address } = new SocketAddress({ address: ip, family: 'ipv6' });
  const within = address.slice(mapped.length);
  if (address.startsWith(mapped) && isIPv4(within)) return within;
  const zeros = '0:'.repeat(8 - groupsOf(address).length);
  const written = address.replace('::', `:${zeros}`);
  return `${groupsOf(written).slice(0, 4).join(':')}::/64`;
}

/** The address in what a proxy says of its client; what is none is left as it is. */
function addressIn(client: string): string {
  const [, bracketed, dotted] = withPort.exec(client) ?? [];
  if (bracketed !== undefined && isIPv6(bracketed)) return bracketed;
  return dotted !== undefined && isIPv4(dotted) ? dotted : client;
}
