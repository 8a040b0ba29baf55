import type { SignatureTimes } from '../../app/page-settings.js';

/** What is wrong with a request, or right, in a sentence. */
export interface Finding {
  readonly isFault: boolean;
  readonly text: string;
}

/** A request as it was pasted. */
export interface PastedRequest {
  readonly family: 'shipments' | 'payments';
  /** The value of `Shipping-Signature` or `Payments-Signature`, or the whole header line. */
  readonly signature: string;
  readonly body: string;
  /** The value of `Shipping-Event`; empty if there is none. */
  readonly event: string;
}

/** By what the time of a signature is judged; `now` is in milliseconds. */
interface Clock {
  readonly now: number;
  readonly times: SignatureTimes;
}

const maxElements = 8;
const maxBodyBytes = 1024 * 1024;
const maxId = 255;

/**
 * Says why the gateway would refuse a request, as far as that can be told without the secret: what it checks of the
 * header, of the age and of the body, by the same rules and in the same order.
 */
export function explainRequest(request: PastedRequest, clock: Clock): readonly Finding[] {
  return [...explainSignature(request, clock), ...explainBody(request)];
}

function explainSignature({ signature, family }: PastedRequest, clock: Clock): readonly Finding[] {
  const value = signature.replace(/^\s*[\w-]+-signature\s*:/i, '').trim();
  if (value === '') return [fault('The signature header is missing or empty.')];
  const elements = value.split(',').map(toElement);
  if (elements.length > maxElements)
    return [fault(`The header has ${elements.length} elements; at most ${maxElements} are taken.`)];
  const times = elements.filter(({ name }) => name === 't');
  return [
    explainTime(
      times.map((one) => one.value),
      clock,
    ),
    ...explainValues(elements, family),
  ];
}

function toElement(element: string): { readonly name: string; readonly value: string } {
  const text = element.trim();
  const at = text.indexOf('=');
  return at < 0 ? { name: text, value: '' } : { name: text.slice(0, at), value: text.slice(at + 1) };
}

function explainTime(given: readonly string[], { now, times }: Clock): Finding {
  const { maxAge = Infinity, maxAhead = Infinity } = times;
  const [time = ''] = given;
  if (given.length === 0) return fault('The header has no t, the time of signing.');
  if (given.length > 1) return fault('The header has t more than once.');
  if (!/^\d+$/.test(time))
    return fault('t is not plain decimal digits: it is the time in seconds since 1970.');
  const age = Math.floor(now / 1000) - Number(time);
  if (age > maxAge)
    return fault(
      `It was signed ${age} s ago; at most ${maxAge} s is taken. The sender’s clock is wrong, or the delivery was held back.`,
    );
  if (age < -maxAhead)
    return fault(
      `It was signed ${-age} s ahead of this browser’s clock; at most ${maxAhead} s is taken.${-age > 1e9 ? ' t seems to be in milliseconds.' : ''}`,
    );
  return good(
    age < 0 ? `It was signed ${-age} s ahead of this browser’s clock.` : `It was signed ${age} s ago.`,
  );
}

type Elements = readonly { readonly name: string; readonly value: string }[];

function explainValues(elements: Elements, family: PastedRequest['family']): readonly Finding[] {
  const counts = family === 'payments' ? ['v1', 'v0'] : ['v1'];
  const values = elements.filter(({ name }) => counts.includes(name));
  const unknown = elements.filter(({ name }) => name !== 't' && !counts.includes(name));
  const ignored = unknown.map(({ name }) =>
    good(`“${name}” is not a scheme that counts here, and is ignored.`),
  );
  if (values.length === 0) return [fault(`The header has no ${counts.join(' or ')}.`), ...ignored];
  const malformed = values.filter(({ value }) => !isDigest(value));
  const isAnySound = malformed.length < values.length;
  const findings = malformed.map(({ name }): Finding => {
    const text = `${name} is neither 64 hex digits nor base64 of 32 bytes: it is cut off, or of another algorithm.`;
    return isAnySound ? good(`A ${text} The other one counts.`) : fault(text);
  });
  if (isAnySound)
    findings.push(
      good('A signature is well formed. Whether it fits the body and the secret, only the gateway can tell.'),
    );
  return [...findings, ...ignored];
}

/** Hex, or base64 or base64url, whose last digit has only four bits of the 32 bytes. */
function isDigest(value: string): boolean {
  return /^[\da-f]{64}$/i.test(value) || /^(?:[A-Za-z\d+/]{42}|[\w-]{42})[AEIMQUYcgkosw048]=?$/.test(value);
}

function explainBody({ body, family, event }: PastedRequest): readonly Finding[] {
  const bytes = new TextEncoder().encode(body).length;
  if (bytes > maxBodyBytes) return [fault(`The body has ${bytes} bytes; at most 1 MiB is taken.`)];
  if (body === '') return [fault('There is no body.')];
  const content = parse(body.replace(/^\uFEFF/, ''));
  if (content === undefined) return [fault('The body is not a JSON object.')];
  const { id, type } = content;
  const findings: Finding[] = [];
  if (typeof id !== 'string' || id === '' || Array.from(id).length > maxId)
    findings.push(fault(`The body has no id that is a text of 1 to ${maxId} characters.`));
  if (typeof type !== 'string') findings.push(fault('The body has no type that is a text.'));
  if (family === 'shipments' && event !== '' && event !== type)
    findings.push(fault(`Shipping-Event says “${event}”, but the signed type is ${JSON.stringify(type)}.`));
  return findings.length > 0
    ? findings
    : [good('The body is an event. Its bytes must be exactly those signed.')];
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

const fault = (text: string): Finding => ({ isFault: true, text });
const good = (text: string): Finding => ({ isFault: false, text });
