import { request, type IncomingMessage, type RequestOptions } from 'node:http';
import { onTestFinished } from 'vitest';

/** A block of an event stream; a member is undefined if the block has no such line. */
export interface Block {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string | undefined;
  readonly retry: string | undefined;
}

/** An answer that stays open, read block by block. */
export interface EventStream {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly response: IncomingMessage;
  /** The next block; rejects once there is none. */
  next(): Promise<Block>;
  /** The next block that has this event, others passed over. */
  nextOf(event: string): Promise<Block>;
  /** All that is left, once it has ended. */
  rest(): Promise<readonly Block[]>;
  leave(): void;
}

/** Asks for a stream as `EventSource` does, by GET; it is left when the test is finished. */
export async function openEventStream(
  url: string,
  { query, variables }: { readonly query: string; readonly variables?: object },
  options: RequestOptions = {},
): Promise<EventStream> {
  const parameters = new URLSearchParams({
    query,
    ...(variables && { variables: JSON.stringify(variables) }),
  });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(`${url}/graphql/stream?${parameters}`, { agent: false, ...options }, resolve);
    sent.on('error', reject);
    sent.end();
    onTestFinished(() => void sent.destroy());
  });
  response.on('error', () => undefined);
  const blocks = blocksOf(response.setEncoding('utf8'));
  const next = async () => {
    const { value, done } = await blocks.next();
    if (done) throw new Error('The stream has ended.');
    return value;
  };
  return {
    status: response.statusCode,
    headers: response.headers,
    response,
    next,
    async nextOf(event) {
      for (;;) {
        const block = await next();
        if (block.event === event) return block;
      }
    },
    async rest() {
      const all: Block[] = [];
      for (let got = await blocks.next(); !got.done; got = await blocks.next()) all.push(got.value);
      return all;
    },
    leave: () => void response.destroy(),
  };
}

/** The blocks of a stream's text. */
export async function* blocksOf(chunks: AsyncIterable<unknown>): AsyncGenerator<Block, undefined> {
  let text = '';
  for await (const chunk of chunks) {
    text += String(chunk);
    for (let at = text.indexOf('\n\n'); at >= 0; at = text.indexOf('\n\n')) {
      yield toBlock(text.slice(0, at));
      text = text.slice(at + 2);
    }
  }
  return undefined;
}

function toBlock(text: string): Block {
  const line = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(text)?.[1];
  return { id: line('id'), event: line('event'), data: line('data'), retry: line('retry') };
}
