/** An address of a database that cannot be used; the message begins in lower case and repeats nothing of the address. */
export class InvalidAddress extends Error {
  override readonly name = 'InvalidAddress';
}

/** What is before the hosts, with user and password; the hosts; what follows them. */
const form = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is;
const host = /^(?:\[[\da-f:.%]+\]|[^:[\]]+)(?::(\d+))?$/i;
const maxPort = 65_535;
/** What libpq's `target_session_attrs` may ask for; a server that may not be written to would be of no use. */
const sessionKinds = ['read-write', 'primary', 'any'];

/**
 * The addresses of the servers that `postgres://user:password@a:5432,b:5433/name?…` names, one for each, in order: the
 * form of libpq, which `URL` does not take. Throws an `InvalidAddress`.
 */
export function addressesOf(url: string): readonly string[] {
  const parts = form.exec(url);
  if (!parts) throw new InvalidAddress('must have the form postgres://user:password@host:port/name');
  const [, before, hosts, after] = parts as unknown as [string, string, string, string];
  const parameters = new URLSearchParams(/\?([^#]*)/.exec(after)?.[1]);
  const kind = parameters.get('target_session_attrs') ?? 'any';
  if (!sessionKinds.includes(kind))
    throw new InvalidAddress(
      'target_session_attrs must be read-write, since the gateway uses the host that accepts writes',
    );
  if (parameters.getAll('host').some((text) => text.includes(',')))
    throw new InvalidAddress('several hosts stand before the name, as in postgres://a:5432,b:5433/name');
  if (!hosts.includes(',')) return [url];
  if (parameters.has('host') || parameters.has('port'))
    throw new InvalidAddress('names hosts in two places: leave out the parameters host and port');
  return hosts.split(',').map((text, at) => `${before}${checkHost(text.trim(), at + 1)}${after}`);
}

/** What was taken for a host may be a part of a password, so it is not shown. */
function checkHost(text: string, place: number): string {
  if (text === '') throw new InvalidAddress(`host ${place} is empty`);
  const [, port] = host.exec(text) ?? [undefined, '0'];
  if (port !== undefined && (Number(port) < 1 || Number(port) > maxPort))
    throw new InvalidAddress(
      `host ${place} is not of the form name or name:port (in a password, / @ and , are written %2F, %40 and %2C)`,
    );
  return text;
}
