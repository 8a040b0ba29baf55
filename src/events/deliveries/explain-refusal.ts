import type { SecretsHistory } from '../secrets/secrets.js';
import { headerValues, type Refusal, type WebhookRequest } from '../webhooks/request.js';
import {
  findSignatureFault,
  maxElements,
  mayMatch,
  readElements,
  signedSeconds,
  type SignatureScheme,
} from '../webhooks/signature.js';
import type { WebhookFamily } from '../webhooks/webhook-family.js';

/** A delivery that was refused. */
export interface Refused {
  readonly request: WebhookRequest;
  readonly refusal: Refusal;
  /** The family that it was sent as. */
  readonly family: WebhookFamily;
  /** What is known of the endpoint's secrets; absent if the endpoint is not configured. */
  readonly secrets?: SecretsHistory | undefined;
  /** Absent if it was refused before the body was read. */
  readonly body?: Buffer | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Why a delivery was refused, for the operator: never a secret, nor a signature, given or computed. */
export interface Explanation {
  readonly message: string;
  /** Whether it was signed with a secret of the endpoint, even if with one that is no longer valid. */
  readonly genuine: boolean;
}

/** Says in a sentence or two why a delivery was refused, and what to look at. */
export function explainRefusal(refused: Refused): Explanation {
  const { refusal, request, family, secrets } = refused;
  const explain = explanations[refusal.code];
  if (!secrets) return { message: explain?.(refused, false) ?? refusal.message, genuine: false };
  const headers = headerValues(request, family.scheme.header);
  const genuine = isSignedBy([...secrets.valid, ...secrets.expired], family.scheme, headers, refused.body);
  return { message: explain?.(refused, genuine) ?? refusal.message, genuine };
}

/** Whether one of these secrets signed the body, at whatever time. */
function isSignedBy(
  secrets: readonly string[],
  scheme: SignatureScheme,
  headers: readonly string[],
  body: Buffer | undefined,
): boolean {
  const anyTime = { ...scheme, maxAge: Infinity, maxAhead: Infinity };
  return body !== undefined && findSignatureFault(anyTime, headers, body, { secrets, now: 0 }) === undefined;
}

type Explain = (refused: Refused, genuine: boolean) => string;

const explanations: Readonly<Record<string, Explain>> = {
  ENDPOINT_UNKNOWN: ({ request: { endpointId }, family: { setting } }) =>
    `No endpoint “${brief(endpointId)}” is configured: look at the address that the service sends to, and at ` +
    `${setting}.`,
  SIGNATURE_MISSING: ({ family }) =>
    `There is no header ${family.scheme.header}: the service did not send it, or a proxy in between removed it.`,
  SIGNATURE_MALFORMED: (refused) => `The signature header cannot be read: ${malformation(refused)}.`,
  SIGNATURE_TOO_OLD: (refused, genuine) =>
    `It was signed ${ageOf(refused)} s ago, and at most ${refused.family.scheme.maxAge} s are accepted: the sender's ` +
    `clock is behind, or the delivery was held back${orRepeated(refused)}. ${alsoSigned(refused, genuine)}`,
  SIGNATURE_TOO_FAR_AHEAD: (refused, genuine) =>
    `It was signed ${-ageOf(refused)} s in the future, and at most ${refused.family.scheme.maxAhead} s are accepted: ` +
    `the sender's clock is ahead, or this machine's is behind. ${alsoSigned(refused, genuine)}`,
  SIGNATURE_WRONG: wrongSignature,
};

function wrongSignature({ request, family: { scheme } }: Refused, genuine: boolean): string {
  if (genuine)
    return 'It was signed with a secret that was replaced and is no longer accepted: the sender has to use the current one.';
  if (!mayMatch(scheme, headerValues(request, scheme.header)))
    return `The header has no ${scheme.versions.join(' or ')} that is 64 hex digits, or 32 bytes in base64.`;
  return (
    'No secret of this endpoint makes this signature: the sender uses another secret (was it rotated elsewhere?), ' +
    'a proxy in between changed the body, or somebody else sent it.'
  );
}

function malformation({ request, family: { scheme } }: Refused): string {
  const headers = headerValues(request, scheme.header);
  if (headers.length > 1) return `it was sent ${headers.length} times`;
  const read = readElements(headers[0]!);
  if (!('count' in read)) return '`t`, the time of signing, is not in plain decimal digits';
  const { fault, count } = read;
  if (fault === 'elements') return `it has ${count} elements, and at most ${maxElements} are accepted`;
  return `it has ${count === 0 ? 'no' : count} \`t\`, the time of signing`;
}

function ageOf({ request, family: { scheme }, now }: Refused): number {
  return Math.floor(now / 1000) - signedSeconds(headerValues(request, scheme.header));
}

function orRepeated({ family: { ageSetting } }: Refused): string {
  return ageSetting ? `, or the sender repeats deliveries with their first time: see ${ageSetting}` : '';
}

function alsoSigned({ body }: Refused, genuine: boolean): string {
  if (!body) return '';
  return genuine ? 'The signature itself is right.' : 'The signature is wrong, too.';
}

function brief(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
