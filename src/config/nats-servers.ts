import { list } from './setting-formats.js';

/** The servers of a NATS cluster, and how to sign in there. */
export interface NatsServers {
  /** Each as `host:port`. */
  readonly servers: readonly string[];
  readonly tls: boolean;
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
}

/** The addresses of a NATS cluster: one scheme, and one user and password or token, for all. No message shows them. */
export const natsServers = list.transform((addresses, context): NatsServers => {
  const scheme = /^\w+:\/\//.exec(addresses[0] ?? '')?.[0] ?? 'nats://';
  const texts = addresses.map((text) => (text.includes('://') ? text : `${scheme}${text}`));
  const urls = texts.filter((text) => URL.canParse(text)).map((text) => new URL(text));
  for (const fault of faultsOf(urls, texts.length)) context.addIssue(fault);
  return {
    servers: urls.map(({ hostname, port }) => `${hostname}:${port || '4222'}`),
    tls: urls[0]?.protocol === 'tls:',
    ...credentialsOf(urls),
  };
});

function faultsOf(urls: readonly URL[], given: number): readonly string[] {
  const isNats = ({ protocol, hostname, pathname, search, hash }: URL) =>
    /^(nats|tls):$/.test(protocol) &&
    hostname !== '' &&
    /^\/?$/.test(pathname) &&
    search === '' &&
    hash === '';
  if (given === 0 || urls.length < given || !urls.every(isNats))
    return ['must be nats://host:port or tls://host:port, or several with commas between them'];
  const schemes = new Set(urls.map(({ protocol }) => protocol));
  const credentials = new Set(
    urls.filter(isSigned).map(({ username, password }) => `${username}:${password}`),
  );
  return [
    ...(schemes.size > 1 ? ['must have the same scheme, nats:// or tls://, for all servers'] : []),
    ...(credentials.size > 1 ? ['must have the same user and password, or token, for all servers'] : []),
  ];
}

function isSigned({ username }: URL): boolean {
  return username !== '';
}

/** A name without a password is a token. */
function credentialsOf(urls: readonly URL[]): Pick<NatsServers, 'user' | 'pass' | 'token'> {
  const signed = urls.find(isSigned);
  if (!signed) return {};
  const [name, pass] = [decoded(signed.username), decoded(signed.password)];
  return pass === '' ? { token: name } : { user: name, pass };
}

/** As it was meant: a percent sign that begins no code stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
