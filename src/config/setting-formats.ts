import { isIP } from 'node:net';
import { z } from 'zod';
import { foldAscii } from '../lib/case-fold.js';
import { isSendable } from '../lib/header-token.js';
import { addressesOf, type InvalidAddress } from '../lib/postgres-hosts.js';

const grantNames = {
  'appointments:read': 'APPOINTMENTS_READ',
  'appointments:write': 'APPOINTMENTS_WRITE',
  'shipments:read': 'SHIPMENTS_READ',
  'payments:read': 'PAYMENTS_READ',
  'webhooks:read': 'WEBHOOKS_READ',
  'webhooks:rotate': 'WEBHOOKS_ROTATE',
} as const;

/** Items, separated by commas or line breaks; empty ones are dropped. */
export const list = z.string().transform((text) =>
  text
    .split(/[,\r\n]/)
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

/** The same of names, of which none was meant to be several: no name has a blank or a semicolon in it. */
function listOf(names: string, example: string) {
  return list.refine(
    (items) => !items.some((item) => /[\s;]/.test(item)),
    `must have commas between the ${names}, as in ${example}`,
  );
}

/** A host name, as URLs write it, or an IP address; the brackets of IPv6 are dropped. */
export const host = z.string().transform((text, context): string => {
  const address = text.replace(/^\[(.+)\]$/, '$1');
  if (isIP(address) === 6) return address;
  const url = `http://${text}`;
  if (/^[\p{L}\p{M}\p{N}._-]+$/u.test(text) && URL.canParse(url)) return new URL(url).hostname;
  context.addIssue(
    'must be a host name or an IP address alone, as in 0.0.0.0, without http:// and without a port',
  );
  return text;
});

/** An http or https address; slashes at its end are dropped. */
export const httpUrl = z
  .string()
  .refine(
    (text) => /^https?:\/\/[^/?#]+/i.test(text) && URL.canParse(text),
    'must be an http or https URL, as in https://api.example.com',
  )
  .refine((text) => !/[?#]/.test(text), 'must have no query and no fragment')
  .refine((text) => !/^https?:\/\/[^/]*@/i.test(text), 'must not contain a user name or password')
  .transform((text) => text.replace(/\/+$/, ''));

/** An http or https address without a path. */
export const origin = httpUrl
  .refine(
    (text) => !URL.canParse(text) || new URL(text).pathname === '/',
    'must have no path, as in https://api.example.com',
  )
  .transform((text) => new URL(text).origin);

/** Origins, separated by commas; `loopback` is any of a page that this machine serves. */
export const origins = listOf('origins', 'https://app.example.com,https://www.example.com')
  .refine(
    (items) => !items.some(hasStar),
    '* is not accepted: name each origin, as in https://app.example.com',
  )
  .pipe(z.array(z.string().transform(originOrLoopback)));

function originOrLoopback(text: string, context: z.RefinementCtx<string>): string {
  if (text === 'loopback') return text;
  const { data = text, error } = origin.safeParse(text);
  for (const { message } of error?.issues ?? []) context.addIssue(message);
  return data;
}

/** Types of events, separated by commas. */
export const eventTypes = listOf('types', 'payment.succeeded,payment.failed')
  .refine(({ length }) => length > 0, 'must name at least one type')
  .refine(
    (items) => !items.some(hasStar),
    '* is not accepted: name each type, as in payment.succeeded,payment.failed',
  )
  .refine(
    (items) => !items.some((item) => /["'[\]]/.test(item)),
    'must be the types alone, as in payment.succeeded,payment.failed, without brackets and quotes',
  );

/** Names of hosts, as URLs write them, separated by commas. */
export const hostNames = listOf('names', 'api.example.com,www.example.com')
  .refine(({ length }) => length > 0, 'must name at least one host; leave the setting out for any')
  .refine(
    (items) => !items.some(hasStar),
    '* is not accepted: name each host, as in api.example.com, or leave the setting out for any',
  )
  .refine(
    (items) => !items.some((item) => item.startsWith('.')),
    'a dot at the start is not accepted: name each host, as in api.example.com',
  )
  .refine(
    (items) => items.every((item) => !/[/:]/.test(item) || isIP(item.replace(/^\[|\]$/g, '')) > 0),
    'must be names alone, as in api.example.com, without https:// and without a port',
  )
  .pipe(z.array(host));

function hasStar(item: string): boolean {
  return item.includes('*');
}

/** A whole number within bounds. */
export const whole = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= least && value <= most, `must be from ${least} to ${most}`);

/** One of a few words. */
export const oneOf = <const Word extends string>(...words: readonly [Word, ...Word[]]) =>
  z.string().pipe(z.enum(words, `must be ${words.join(', ').replace(/, ([^,]+)$/, ' or $1')}`));

/** A whole number of seconds within bounds, or null for `off`. */
export const secondsOrOff = (least: number, most: number) =>
  z.string().transform((text, context): number | null => {
    if (text === 'off') return null;
    const seconds = /^\d+$/.test(text) ? Number(text) : NaN;
    if (!(seconds >= least && seconds <= most))
      context.addIssue(`must be off or a whole number of seconds from ${least} to ${most}`);
    return seconds;
  });

/** A port; the address of a service, which Kubernetes puts into `<NAME>_PORT`, counts as none. */
export const namedPort = z
  .string()
  .transform((text) => (/^\w+:\/\//.test(text) ? undefined : text))
  .pipe(whole(0, 65_535).optional());

/** A `namedPort` that refuses `off` with a message of its own. */
export const metricsPort = z
  .string()
  .refine((text) => text !== 'off', 'must be a whole number; for no port of its own, leave it out')
  .pipe(namedPort);

/** A token that can be sent in a header: visible ASCII. */
export const sendable = z
  .string()
  .refine(isSendable, 'must consist of visible ASCII characters, without spaces');

/** The path of a manifest, and not what is in it. */
export const manifestPath = z.string().refine((text) => !text.startsWith('{'), 'must be the path of a file');

/** A member of a JSON object, or the path of one inside others (`user.token`). */
export const memberPath = z
  .string()
  .regex(/^[^.]+(\.[^.]+)*$/, 'must be the name of a member, or names joined by single dots');

/** `id=secret` pairs, split at the first `=`. */
export const endpoints = list.transform((pairs, context): ReadonlyMap<string, string> => {
  const map = new Map<string, string>();
  for (const [place, pair] of pairs.entries()) {
    const at = pair.indexOf('=');
    const [id, secret] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    if (at < 1 || id === '' || secret === '')
      context.addIssue(`pair ${place + 1} is not of the form id=secret`);
    else if (/\s/.test(id))
      context.addIssue(`the id "${id}" has blanks in it: write pairs as id=secret, with commas between them`);
    else if (/:\/\/|^\/|\/webhooks\//.test(id))
      context.addIssue(
        `the id "${id}" is an address: write the last part of its path alone, as in id=secret`,
      );
    else if (/^\.\.?$/.test(id)) context.addIssue(`the id "${id}" cannot be a part of an address`);
    else if (map.has(id)) context.addIssue(`the id ${id} is given twice`);
    else map.set(id, secret);
  }
  if (pairs.length === 0) context.addIssue('must have at least one id=secret pair');
  return map;
});

const isPostgres = (text: string) => /^postgres(ql)?:\/\//.test(text);

/** Refuses an address of Postgres whose hosts cannot be told. */
function checkHosts(text: string, context: z.RefinementCtx<string>): string {
  if (!isPostgres(text)) return text;
  try {
    addressesOf(text);
  } catch (error) {
    context.addIssue((error as InvalidAddress).message);
  }
  return text;
}

/** The address of a database. */
export const databaseUrl = z
  .string()
  .refine(
    (text) => /^sqlite:(?!:memory:$).+/.test(text) || isPostgres(text),
    'must be sqlite:<path> or postgres://…',
  )
  .transform(checkHosts);

/** The address of a Postgres. */
export const postgresUrl = z.string().refine(isPostgres, 'must be postgres://…').transform(checkHosts);

/** Keys of 32 bytes, in base64. */
export const secretKeys = list.transform((keys, context): readonly Buffer[] => {
  if (keys.length === 0) context.addIssue('must have at least one key');
  return keys.map((text, place) => {
    const key = Buffer.from(text, 'base64');
    if (/\s/.test(text)) context.addIssue(`key ${place + 1} has blanks in it: write commas between keys`);
    else if (key.length !== 32 || !/^[\w+/-]+={0,2}$/.test(text))
      context.addIssue(`key ${place + 1} is not 32 bytes in base64: trivium keys prints one`);
    return key;
  });
});

const grantee = /^(\*|\*@[^*@]+|[^*@]+@[^*@]+)$/;
const notGrants = `must be a list of these grants: ${Object.keys(grantNames).join(', ')}`;
const grantLists = z.record(
  z.string(),
  z.array(z.enum(Object.keys(grantNames) as [keyof typeof grantNames], notGrants), notGrants),
  'must be a JSON object, as in {"*@example.com":["shipments:read"]}',
);

type Granted = (typeof grantNames)[keyof typeof grantNames];

/** E-mail address, `*@domain` or `*`, the letters A to Z in lower case → grants; those of several spellings are merged. */
type Grants = ReadonlyMap<string, readonly Granted[]>;

/** Who may do what, as JSON. */
export const grants = z.string().transform((text, context): Grants => {
  const { data = {}, error } = grantLists.safeParse(parseJson(text));
  const isPath = /^[^{["@=]*[./\\][^{["@=]*$/.test(text);
  const hint = isPath ? '; the path of a file goes into GRANTS_FILE' : '';
  const faults = (error?.issues ?? []).map(({ path: [who], message }) =>
    who === undefined ? `${message}${hint}` : `${String(who)}: ${message}`,
  );
  for (const fault of new Set(faults)) context.addIssue(fault);
  for (const who of Object.keys(data))
    if (!grantee.test(who)) context.addIssue(`${who} is neither an e-mail address, *@domain nor *`);
    else if (who !== who.trim()) context.addIssue(`"${who}" has white space around it`);
  for (const who of repeatedNames(text)) context.addIssue(`${who} is given twice`);
  const table = new Map<string, readonly Granted[]>();
  for (const [spelling, names] of Object.entries(data)) {
    const who = foldAscii(spelling);
    table.set(who, [...(table.get(who) ?? []), ...names.map((name) => grantNames[name])]);
  }
  return table;
});

/** The names that occur more than once in an object of lists: `JSON.parse` silently keeps the last of them. */
function repeatedNames(json: string): ReadonlySet<string> {
  const names = Array.from(json.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?/g))
    .filter(([, , colon]) => colon !== undefined)
    .map(([, name]) => String(parseJson(name!)));
  return new Set(names.filter((name, at) => names.indexOf(name) !== at));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a text is an IP address or a range of them in CIDR notation. */
function isRange(text: string): boolean {
  const [address = '', prefix = '0', ...more] = text.split('/');
  const bits = { 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return more.length === 0 && /^\d+$/.test(prefix) && Number(prefix) <= bits;
}

/** Which proxies are trusted: their addresses, or how many there are. */
export const trustProxy = list.transform((proxies, context): number | readonly string[] => {
  const [only, ...more] = proxies;
  if (only !== undefined && more.length === 0 && /^\d{1,3}$/.test(only)) return Number(only);
  for (const proxy of proxies) {
    if (proxy === '*') {
      context.addIssue('* is not accepted: name the addresses of the proxies, or write how many there are');
      continue;
    }
    const known = ['loopback', 'linklocal', 'uniquelocal'].includes(proxy);
    if (!known && !isRange(proxy))
      context.addIssue(
        `${proxy} is not an IP address, an address range, loopback, linklocal, uniquelocal or a count: write for example 10.0.0.0/8, or 1 for one proxy`,
      );
  }
  return proxies;
});
