/** A block of a stream of server-sent events; what it lacks is undefined. */
export interface EventBlock {
  readonly event?: string;
  readonly id?: string;
  readonly data?: string;
  readonly retry?: string;
}

const blockEnd = /\r?\n\r?\n/;

/** The blocks of a stream, each as soon as it is whole; one that is cut off is left out. */
export async function* readBlocks(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
): AsyncGenerator<EventBlock> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    const blocks = (rest + decoder.decode(value, { stream: true })).split(blockEnd);
    rest = blocks.pop()!;
    yield* blocks.map(readBlock);
  }
}

function readBlock(block: string): EventBlock {
  const fields = block.split(/\r?\n/).map((line) => /^([^:]*)(?:: ?)?(.*)$/s.exec(line)!.slice(1));
  return Object.fromEntries(fields) as EventBlock;
}
