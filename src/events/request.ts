/** One request to the receiver, before anything of it was believed. */
export interface WebhookRequest {
  readonly family: string;
  /** The `:id` of the route, decoded. */
  readonly endpointId: string;
  readonly method: string;
  /** Names and values in turn, as `node:http` gives them. */
  readonly rawHeaders: readonly string[];
  /** The raw bytes; untouched where the request is refused before its body counts. */
  readonly body: AsyncIterable<Buffer>;
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
const maxDiscardedBytes = 16 * maxBodyBytes;

/** Only POST will do. */
export function checkMethod({ method }: WebhookRequest): void {
  if (method !== 'POST')
    throw new Refusal(405, 'METHOD_NOT_ALLOWED', 'Webhooks are sent by POST.', { allow: 'POST' });
}

/** No encoding but `identity` will do. */
export function checkEncoding(request: WebhookRequest): void {
  const encodings = headerValues(request, 'content-encoding').flatMap((value) => value.split(','));
  if (encodings.every((encoding) => ['', 'identity'].includes(encoding.trim().toLowerCase()))) return;
  throw new Refusal(415, 'ENCODING_NOT_SUPPORTED', 'The body must not be compressed.', {
    'accept-encoding': 'identity',
  });
}

/** The whole body, or a refusal as soon as it is known to be over the limit. */
export async function readBody(request: WebhookRequest): Promise<Buffer> {
  const chunks = request.body[Symbol.asyncIterator]();
  const kept: Buffer[] = [];
  const [announced = 0] = headerValues(request, 'content-length').map(Number);
  if (announced > maxBodyBytes) throw tooLarge(chunks);
  let size = 0;
  for (;;) {
    const next = await nextChunk(chunks);
    if (next.done) return Buffer.concat(kept);
    size += next.value.length;
    if (size > maxBodyBytes) throw tooLarge(chunks);
    kept.push(next.value);
  }
}

async function nextChunk(chunks: AsyncIterator<Buffer>): Promise<IteratorResult<Buffer>> {
  try {
    return await chunks.next();
  } catch {
    throw new Refusal(400, 'BODY_INCOMPLETE', 'The body broke off.');
  }
}

function tooLarge(rest: AsyncIterator<Buffer>): Refusal {
  void discard(rest);
  return new Refusal(413, 'BODY_TOO_LARGE', `The body is over ${maxBodyBytes} bytes.`);
}

/**
 * Reads on without keeping anything: a sender that is cut off while it writes may never see the answer. One that goes
 * on past a further bound is let go of, which for a request of `node:http` closes the connection.
 */
async function discard(rest: AsyncIterator<Buffer>): Promise<void> {
  try {
    let left = maxDiscardedBytes;
    while (left > 0) {
      const next = await rest.next();
      if (next.done) return;
      left -= next.value.length;
    }
    await rest.return?.();
  } catch {
    // The sender is gone: there is nothing left to discard.
  }
}

/** The values of every header of this name (in lower case), in order. */
export function headerValues({ rawHeaders }: WebhookRequest, name: string): readonly string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]!.toLowerCase() === name);
}
