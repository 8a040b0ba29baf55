/** An address of a database that cannot be used; the message begins in lower case and repeats nothing of the address. */
export class InvalidAddress extends Error {
  override readonly name = 'InvalidAddress';
}

/** What is before the hosts, with user and password; the hosts; what follows them. An address that names nothing has none. */
const form = /^(postgres(?:ql)?:\/\/(?!\/?$)(?:[^/?#]*@)?)([^/?#]*)(.*)$/is;
/** An @ in a path, a fragment or the name of a parameter: it ends a password that was cut short. */
const lateAt = /^(?:[^?]*|[^=]*)@/s;
const escapes = 'in a user name or password, / ? and # are written %2F, %3F and %23';
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
  if (lateAt.test(after)) throw new InvalidAddress(`has an @ after the host: ${escapes}`);
  if (!isText(url.replace(/\?.*/s, '')))
    throw new InvalidAddress('has a % that encodes no character: write it as %25');
  const parameters = new URLSearchParams(/\?([^#]*)/.exec(after)?.[1]);
  checkPort(parameters.get('port'), 'the parameter port');
  const kind = parameters.get('target_session_attrs') ?? 'any';
  if (!sessionKinds.includes(kind))
    throw new InvalidAddress(
      'target_session_attrs must be read-write, since the gateway uses the host that accepts writes',
    );
  if (parameters.getAll('host').some((text) => text.includes(',')))
    throw new InvalidAddress('several hosts stand before the name, as in postgres://a:5432,b:5433/name');
  if (!hosts.includes(',')) {
    if (hosts !== '') checkHost(hosts, 'the host');
    return [url];
  }
  if (parameters.has('host') || parameters.has('port'))
    throw new InvalidAddress('names hosts in two places: leave out the parameters host and port');
  return hosts.split(',').map((text, at) => `${before}${checkHost(text.trim(), `host ${at + 1}`)}${after}`);
}

/** What was taken for a host may be a part of a password, so it is not shown. */
function checkHost(text: string, which: string): string {
  if (text === '') throw new InvalidAddress(`${which} is empty`);
  checkPort(/:(\d+)$/.exec(text)?.[1], `the port of ${which}`);
  if (!URL.canParse(`postgres://${text}`))
    throw new InvalidAddress(`${which} is not of the form name or name:port (${escapes})`);
  return text;
}

function checkPort(text: string | null | undefined, which: string): void {
  if (text && !(/^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= maxPort))
    throw new InvalidAddress(`${which} must be from 1 to ${maxPort}`);
}

/** Whether percent signs encode UTF-8; one that begins no code stands for itself. */
function isText(encoded: string): boolean {
  try {
    decodeURIComponent(encoded.replace(/%(?![\da-f]{2})/gi, '%25'));
    return true;
  } catch {
    return false;
  }
}
