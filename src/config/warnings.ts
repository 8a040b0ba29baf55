import { isIP } from 'node:net';
import leven from 'leven';
import type { Environment } from './environment.js';
import { isLoopback } from './loopback.js';
import { hostNames, list, origin } from './setting-formats.js';
import { fileSettings, sandboxSettings, settings } from './settings.js';

const known = Object.keys({ ...settings.shape, ...sandboxSettings.shape });
const withFile = [...known, ...fileSettings.map((name) => `${name}_FILE`)];

/** Words that our names begin with, but for those that others use as well. */
const families = new Set(
  known
    .filter((name) => name.includes('_') && !/^(NODE|OTEL|LOG|GATEWAY)_/.test(name))
    .map((name) => name.slice(0, name.indexOf('_'))),
);
/** Of these there are many: whether that is said in the name of a setting is not easy to remember. */
const counted = /^(NOTE|APPOINTMENT|SHIPMENT|PAYMENT|WEBHOOK)S?_/;

/** Names that look like another setting than the one that is meant. */
const aliases: Readonly<Record<string, string>> = {
  TRUSTED_PROXY: 'TRUST_PROXY',
  TRUSTED_PROXIES: 'TRUST_PROXY',
  APPOINTMENTS_ISSUER_URL: 'APPOINTMENTS_AUTH_URL',
  APPOINTMENTS_TOKEN_URL: 'APPOINTMENTS_AUTH_URL',
  EVENT_TYPES: 'PAYMENT_EVENT_TYPES',
  RETENTION_DAYS: 'EVENT_RETENTION_DAYS',
  CORS_ORIGINS: 'ALLOWED_ORIGINS',
  DB_URL: 'DATABASE_URL',
  WEBHOOK_TOLERANCE_SECONDS: 'PAYMENT_TIMESTAMP_TOLERANCE_SECONDS',
};

/** As Kubernetes names the addresses of a service in the environment of every pod beside it. */
const serviceAddress = /_(SERVICE_HOST|SERVICE_PORT|PORT)(_|$)/;

/** Where passwords, secrets and tokens go. */
const serviceUrls = ['NOTES_BASE_URL', 'APPOINTMENTS_BASE_URL', 'APPOINTMENTS_AUTH_URL', 'PAYMENTS_BASE_URL'];

/** A letter in place of another makes another word of a shorter name, such as `POST`. */
const minTypoLength = 6;

/** What may be a mistake in the settings, their files read, but is no fault: a sentence for each that shows no secret. */
export function warningsOf(given: Environment): readonly string[] {
  return [
    ...Object.keys(given).flatMap(warnOfName),
    ...known.flatMap((name) => warnOfQuotes(name, given[name])),
    ...['NOTES_BASE_URL', 'APPOINTMENTS_BASE_URL'].flatMap((name) => warnOfVersion(name, given[name])),
    ...warnOfIssuer(given['APPOINTMENTS_AUTH_URL']),
    ...serviceUrls.flatMap((name) => warnOfClearText(name, given)),
    ...['SHIPMENT_WEBHOOKS', 'PAYMENT_WEBHOOKS'].flatMap((name) => warnOfPairs(name, given[name])),
    ...warnOfMode(given['NODE_ENV']),
    ...warnOfHosts(given['PUBLIC_URL'], given['ALLOWED_HOSTS']),
    ...warnOfGrants(given),
    ...warnOfRelay(given),
    ...warnOfTracing(given),
    ...warnOfRoot(given['DATABASE_URL']),
  ];
}

function warnOfName(name: string): readonly string[] {
  if (withFile.includes(name)) return [];
  const meant = meantBy(name.toUpperCase());
  return meant === undefined ? [] : [`${name} is not a setting, and has no effect: is ${meant} meant?`];
}

/** The setting that a name looks like; undefined if it looks like none, and is somebody else's. */
function meantBy(name: string): string | undefined {
  if (aliases[name] !== undefined) return aliases[name];
  const near = withFile.filter((other) => isTypo(name, other));
  if (near.length > 0) return near[0];
  if (withFile.includes(name)) return name;
  const [family] = /^[A-Z]+(?=_)/.exec(name) ?? [];
  if (family === undefined || serviceAddress.test(name)) return undefined;
  const isOurs = families.has(family) || counted.test(name);
  const isLonger = (other: string) => name.startsWith(`${other}_`);
  const words = wordsOf(name);
  const alike = known.filter((other) => isLonger(other) || (isOurs && wordsOf(other)[0] === words[0]));
  const lacking = (other: string) => words.filter((word) => !wordsOf(other).includes(word)).length;
  return alike.toSorted(
    (a, b) =>
      lacking(a) - lacking(b) || Number(isLonger(b)) - Number(isLonger(a)) || leven(name, a) - leven(name, b),
  )[0];
}

/** The words of a name, in the singular. */
function wordsOf(name: string): readonly string[] {
  return name.split('_').map((word) => word.replace(/S$/, ''));
}

/** Whether a name is a letter away from another; of a short one, not by another letter in its place. */
function isTypo(name: string, other: string): boolean {
  const isOtherWord =
    other.length < minTypoLength && name.length === other.length && sorted(name) !== sorted(other);
  return !isOtherWord && distance(name, other) === 1;
}

/** Letters that differ, 3 for more of them; two that are swapped count as one. */
function distance(name: string, other: string): number {
  const letters = leven(name, other, { maxDistance: 3 });
  const swapped = letters === 2 && name.length === other.length && sorted(name) === sorted(other);
  return swapped ? 1 : letters;
}

function sorted(name: string): string {
  return Array.from(name).toSorted().join('');
}

/** Some tools remove quotes around a value, and others, such as `kubectl`, make them part of it. */
function warnOfQuotes(name: string, value: string | undefined): readonly string[] {
  return value !== undefined && /^(["']).*\1$/s.test(value)
    ? [`${name} has quotes around its value, which are part of it: leave them out`]
    : [];
}

/** Both services have all their addresses below `/v1`. */
function warnOfVersion(name: string, url: string | undefined): readonly string[] {
  return url === undefined || /\/v\d+\/*$/.test(url)
    ? []
    : [
        `${name} does not end with /v1, with which the paths of the service begin: add it, unless a proxy does`,
      ];
}

/** The documents of the service write the whole address of its call: `{auth_url}/oauth/token`. */
function warnOfIssuer(url: string | undefined): readonly string[] {
  return url !== undefined && /\/oauth\/token\/*$/.test(url)
    ? ['APPOINTMENTS_AUTH_URL ends with /oauth/token, which the gateway adds: leave it out']
    : [];
}

/** A blank or a semicolon between pairs makes the second one part of the first one's secret. */
function warnOfPairs(name: string, pairs: string | undefined): readonly string[] {
  return pairs !== undefined && /=[^,\r\n]*(?:[^\S\r\n]|;\s*)[^,\s;=]+=[^,=]/.test(pairs)
    ? [
        `${name}: a secret looks like two pairs: if it is, write a comma between them, as in a=secret,b=secret`,
      ]
    : [];
}

/** On this machine, as to a proxy beside the gateway, nobody else reads what is sent. */
function warnOfClearText(name: string, given: Environment): readonly string[] {
  const url = given[name] ?? '';
  if (given['NODE_ENV'] !== 'production' || !URL.canParse(url)) return [];
  const { protocol, hostname } = new URL(url);
  return protocol !== 'http:' || isLoopback(hostname.replace(/^\[|\]$/g, ''))
    ? []
    : [
        `${name} is an http address, so that secrets cross the network in clear: write https, unless a proxy encrypts`,
      ];
}

function warnOfMode(mode: string | undefined): readonly string[] {
  return mode !== undefined && mode !== 'production' && /^prod/i.test(mode)
    ? [
        `NODE_ENV is ${mode}, which is not production: write production, or a sandbox may stand in for the services`,
      ]
    : [];
}

/** Whoever asks by the name of the public address is refused with 421, the senders of webhooks among them. */
function warnOfHosts(publicUrl: string | undefined, allowedHosts: string | undefined): readonly string[] {
  const { data: names = [] } = hostNames.safeParse(allowedHosts);
  const { data: url } = origin.safeParse(publicUrl);
  if (names.length === 0 || url === undefined) return [];
  const { hostname } = new URL(url);
  return isIP(hostname.replace(/^\[|\]$/g, '')) > 0 || names.includes(hostname)
    ? []
    : [
        `ALLOWED_HOSTS does not have ${hostname}, the name in PUBLIC_URL: add it, unless a proxy sends another Host`,
      ];
}

function warnOfGrants(given: Environment): readonly string[] {
  if (given['NODE_ENV'] !== 'production') return [];
  if (given['GRANTS'] !== undefined || given['GRANTS_FILE'] !== undefined) return [];
  return [
    'GRANTS is not set, so that nobody sees shipments or payments: ' +
      'set it as in {"*@example.com":["shipments:read","payments:read"]}',
  ];
}

function warnOfRelay(given: Environment): readonly string[] {
  const url = given['DATABASE_URL'];
  // A file without a value is a fault of its own.
  const isShared = url?.startsWith('postgres') ?? given['DATABASE_URL_FILE'] !== undefined;
  return given['NATS_URL'] === undefined || isShared
    ? []
    : [
        'NATS_URL has no effect beside an embedded database, which has no other replicas: set DATABASE_URL, too',
      ];
}

/** With two slashes, as other programs write addresses, what was meant as a folder here is one of the whole machine. */
function warnOfRoot(url: string | undefined): readonly string[] {
  const [, path] = /^sqlite:\/\/(?!\/)(.*)/.exec(url ?? '') ?? [];
  return path === undefined
    ? []
    : [`DATABASE_URL is the file /${path}: if a folder here is meant, write sqlite:./${path}`];
}

/** Where the SDK, or this gateway, does something else than what is written, without a word. */
function warnOfTracing(given: Environment): readonly string[] {
  const { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: ratio } = given;
  return [
    ...warnOfCollector(given['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']),
    ...warnOfProtocol(given),
    ...warnOfSampler(sampler),
    ...(sampler?.endsWith('traceidratio') ? warnOfRatio(ratio) : []),
    ...warnOfExporters(given['OTEL_TRACES_EXPORTER']),
    ...warnOfPropagators(given['OTEL_PROPAGATORS']),
  ];
}

/** With any other text, the SDK sends traces elsewhere, or nowhere. */
function warnOfCollector(url: string | undefined): readonly string[] {
  return url === undefined || (/^https?:\/\//i.test(url) && URL.canParse(url))
    ? []
    : [
        'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is no http or https URL, so that no traces arrive there: ' +
          'write it as in http://127.0.0.1:4318/v1/traces',
      ];
}

/** Of the variable that decides: that for traces comes first. */
function warnOfProtocol(given: Environment): readonly string[] {
  const name = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'].find(
    (each) => given[each] !== undefined,
  );
  return name === undefined || /^http\/(json|protobuf)$/.test(given[name]!)
    ? []
    : [`${name} is ${given[name]}, which is not spoken here: write http/json or http/protobuf`];
}

/** With another word, the SDK takes every trace. */
function warnOfSampler(sampler: string | undefined): readonly string[] {
  return sampler === undefined || /^(parentbased_)?(always_on|always_off|traceidratio)$/.test(sampler)
    ? []
    : [
        `OTEL_TRACES_SAMPLER is ${sampler}, which is no sampler, so that all is traced: ` +
          'write parentbased_traceidratio for a fraction',
      ];
}

function warnOfRatio(ratio: string | undefined): readonly string[] {
  return ratio === undefined || (Number(ratio) >= 0 && Number(ratio) <= 1)
    ? []
    : [
        `OTEL_TRACES_SAMPLER_ARG is ${ratio}, which is no number from 0 to 1, so that all is traced: ` +
          'write 0.01 for a hundredth',
      ];
}

/** `baggage` is usual beside it, and never passed on. */
function warnOfPropagators(propagators = ''): readonly string[] {
  const text = propagators.toLowerCase();
  const passing = list.parse(text).filter((word) => word !== 'baggage');
  return text === '' || text === 'none' || passing.join() === 'tracecontext'
    ? []
    : [
        `OTEL_PROPAGATORS is ${propagators}, but traces are passed on by tracecontext alone: ` +
          'write tracecontext, or none to pass on none',
      ];
}

function warnOfExporters(exporters = ''): readonly string[] {
  return list
    .parse(exporters)
    .filter((word) => !/^(otlp|none)$/i.test(word))
    .map((word) => `OTEL_TRACES_EXPORTER has ${word}, which has no effect: traces are only sent by otlp`);
}
