import { isIPv4, isIPv6, SocketAddress } from 'node:net';

const mapped = '::ffff:';
/** An address in brackets, or an IPv4 address, with the port that some proxies append. */
const withPort = /^(?:\[([^[\]]+)\]|(\d+(?:\.\d+){3}))(?::\d+)?$/;
const groupsOf = (address: string) => address.split(':').filter((group) => group !== '');

/**
 * The network that a client's address counts as. An IPv6 address counts as its /64, since whoever has one address of it
 * has them all; an IPv4-mapped one as its IPv4 address; any other as itself. A port is ignored.
 */
export function networkOf(client: string): string {
  const ip = addressIn(client);
  if (!isIPv6(ip)) return ip;
  // Normalised as in RFC 5952, without its zone.
  const { address } = new SocketAddress({ address: ip, family: 'ipv6' });
  const embedded = address.slice(mapped.length);
  if (address.startsWith(mapped) && isIPv4(embedded)) return embedded;
  const zeros = '0:'.repeat(8 - groupsOf(address).length);
  const expanded = address.replace('::', `:${zeros}`);
  return `${groupsOf(expanded).slice(0, 4).join(':')}::/64`;
}

/** The address without brackets or port; anything else is left as it is. */
function addressIn(client: string): string {
  const [, bracketed, dotted] = withPort.exec(client) ?? [];
  if (bracketed !== undefined && isIPv6(bracketed)) return bracketed;
  return dotted !== undefined && isIPv4(dotted) ? dotted : client;
}
