import type { Readable } from 'node:stream';
import { maxBodyBytes } from '../../lib/body-limit.js';
import { isObject, withoutMark } from '../../lib/json.js';
import type { Delivery } from './delivery.js';

/** One request to the receiver, before it is verified. */
export interface WebhookRequest {
  readonly family: string;
  /** The `:id` of the route, decoded. */
  readonly endpointId: string;
  readonly method: string;
  /** Names and values, alternating, as in `node:http`. */
  readonly rawHeaders: readonly string[];
  /** The raw bytes; left unread if the request is refused before its body is needed. */
  readonly body: Readable;
  /** When it came, by `performance.now()`, if it has had to wait for its turn. */
  readonly began?: number;
}

/** The refusal of a delivery; the message is for the sender. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** Refuses any method but POST. */
export function checkMethod({ method }: WebhookRequest): void {
  if (method !== 'POST')
    throw new Refusal(405, 'METHOD_NOT_ALLOWED', 'Webhooks must be sent by POST.', { allow: 'POST' });
}

/** Refuses any content encoding but `identity`. */
export function checkEncoding(request: WebhookRequest): void {
  const encodings = headerValues(request, 'content-encoding');
  if (!isCompressed(encodings)) return;
  throw new Refusal(415, 'ENCODING_NOT_SUPPORTED', 'The body must not be compressed.', {
    'accept-encoding': 'identity',
  });
}

/** Whether the values of `content-encoding` name any encoding but `identity`. */
export function isCompressed(encodings: readonly string[]): boolean {
  const named = encodings.flatMap((value) => value.split(','));
  return !named.every((encoding) => ['', 'identity'].includes(encoding.trim().toLowerCase()));
}

/** The whole body, or a refusal as soon as it is known to be over the limit: whoever answers bounds what still comes. */
export function readBody(request: WebhookRequest): Promise<Buffer> {
  const { body } = request;
  const [announced = 0] = headerValues(request, 'content-length').map(Number);
  let size = 0;
  let kept: Buffer[] = [];
  return new Promise((resolve, reject) => {
    const refuse = () => {
      kept = [];
      reject(new Refusal(413, 'BODY_TOO_LARGE', `The body is larger than ${maxBodyBytes} bytes.`));
    };
    const breakOff = () => {
      if (!body.readableEnded) reject(new Refusal(400, 'BODY_INCOMPLETE', 'The body is incomplete.'));
    };
    if (announced > maxBodyBytes) refuse();
    body.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBodyBytes && announced <= maxBodyBytes) kept.push(chunk);
      else refuse();
    });
    body.on('end', () => resolve(kept.length === 1 ? kept[0]! : Buffer.concat(kept)));
    body.on('error', breakOff).on('close', breakOff);
    // The sender has left before its turn came: that is not told again.
    if (body.destroyed) breakOff();
  });
}

/** The values of every header of this name (in lower case), in order. */
export function headerValues({ rawHeaders }: WebhookRequest, name: string): readonly string[] {
  const values: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    if (rawHeaders[at]!.length === name.length && rawHeaders[at]!.toLowerCase() === name)
      values.push(rawHeaders[at + 1]!);
  return values;
}

/** The members that every event has; the others depend on the family. */
export interface EventBody {
  readonly id: string;
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Why a body is not an event; the message is for the sender. */
export interface BodyFault {
  readonly code: 'BODY_NOT_UTF8' | 'BODY_NOT_JSON_OBJECT' | 'BODY_WITHOUT_ID' | 'BODY_WITHOUT_TYPE';
  readonly message: string;
}

/** An event with the text it was read from. */
export interface ReadBody {
  readonly text: string;
  readonly event: EventBody;
}

const maxIdLength = 255;

// Keeps a byte order mark: the stored text is exactly the bytes received.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads a delivery's raw body: strict UTF-8, a JSON object (a byte order mark before it is passed over), with an `id` of
 * 1 to 255 characters and a `type`.
 */
export function readEvent(body: Uint8Array): ReadBody | BodyFault {
  const text = attempt(() => utf8.decode(body));
  if (text === undefined) return { code: 'BODY_NOT_UTF8', message: 'The body is not valid UTF-8.' };
  const event = attempt((): unknown => JSON.parse(withoutMark(text)));
  if (!isObject(event)) return { code: 'BODY_NOT_JSON_OBJECT', message: 'The body is not a JSON object.' };
  const { id, type } = event;
  if (!isId(id))
    return {
      code: 'BODY_WITHOUT_ID',
      message: 'The body needs an `id`: a string of 1 to 255 characters.',
    };
  if (typeof type !== 'string')
    return { code: 'BODY_WITHOUT_TYPE', message: 'The body needs a `type`: a string.' };
  return { text, event: { ...event, id, type } };
}

/** What the body of a delivery says. */
export type Reading = Pick<Delivery, 'eventId' | 'type' | 'body' | 'apiVersion' | 'known' | 'unnamed'>;
/** Reads what a domain knows of an event; `known` is null for one that is stored but skipped. */
export type Parse = (
  event: EventBody,
  receivedAt: string,
) => Pick<Reading, 'apiVersion' | 'known' | 'unnamed'>;

/** Reads the body of a delivery, of which its family has `parse` read the event. */
export function readDelivery(parse: Parse, body: Uint8Array, receivedAt: string): Reading | BodyFault {
  const read = readEvent(body);
  if ('code' in read) return read;
  const { text, event } = read;
  return { eventId: event.id, type: event.type, body: text, ...parse(event, receivedAt) };
}

/** Counts characters as code points, each of which is one or two UTF-16 code units. */
function isId(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || value.length > 2 * maxIdLength) return false;
  return Array.from(value).length <= maxIdLength;
}

function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}
