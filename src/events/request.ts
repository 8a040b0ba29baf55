import type { Readable } from 'node:stream';

/** One request to the receiver, before anything of it was believed. */
export interface WebhookRequest {
  readonly family: string;
  /** The `:id` of the route, decoded. */
  readonly endpointId: string;
  readonly method: string;
  /** Names and values in turn, as `node:http` gives them. */
  readonly rawHeaders: readonly string[];
  /** The raw bytes; untouched where the request is refused before its body counts. */
  readonly body: Readable;
}

/** A delivery that is not taken; its message is for the sender. */
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

const maxBodyBytes = 1024 * 1024;
/** So much of an unwanted body is read on: what could have been taken, and 16 MiB that may be under way. */
export const mostDiscarded = 17 * maxBodyBytes;

/** Only POST will do. */
export function checkMethod({ method }: WebhookRequest): void {
  if (method !== 'POST')
    throw new Refusal(405, 'METHOD_NOT_ALLOWED', 'Webhooks must be sent by POST.', { allow: 'POST' });
}

/** No encoding but `identity` will do. */
export function checkEncoding(request: WebhookRequest): void {
  const encodings = headerValues(request, 'content-encoding');
  if (!isCompressed(encodings)) return;
  throw new Refusal(415, 'ENCODING_NOT_SUPPORTED', 'The body must not be compressed.', {
    'accept-encoding': 'identity',
  });
}

/** Whether values of `content-encoding` name any but `identity`. */
export function isCompressed(encodings: readonly string[]): boolean {
  const named = encodings.flatMap((value) => value.split(','));
  return !named.every((encoding) => ['', 'identity'].includes(encoding.trim().toLowerCase()));
}

/** The whole body, or a refusal as soon as it is known to be over the limit. */
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
      if (size <= maxBodyBytes && announced <= maxBodyBytes) {
        kept.push(chunk);
        return;
      }
      refuse();
      // Read on without keeping anything: a sender that is cut off while it writes may never see the answer. One that
      // goes on past a further bound is let go of, which closes the connection.
      if (size > mostDiscarded) body.destroy();
    });
    body.on('end', () => resolve(kept.length === 1 ? kept[0]! : Buffer.concat(kept)));
    body.on('error', breakOff).on('close', breakOff);
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
