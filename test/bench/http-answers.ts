/** An answer read from a connection. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/**
 * Reads one answer after another from a keep-alive connection. It parses only the HTTP that this takes, since the load
 * generator must cost little compared with what it measures. The bytes of an answer are reused once `hear` returns.
 */
export function createAnswerReader(hear: (answer: HttpAnswer) => void): (chunk: Buffer) => void {
  let rest = nothing;
  return (chunk) => {
    let waiting = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let read = readAnswer(waiting); read; read = readAnswer(waiting)) {
      waiting = waiting.subarray(read.length);
      hear(read.answer);
    }
    rest = waiting.length === 0 ? nothing : Buffer.from(waiting);
  };
}

const nothing: Buffer = Buffer.alloc(0);
const headEnd = Buffer.from('\r\n\r\n');

function readAnswer(bytes: Buffer): { readonly answer: HttpAnswer; readonly length: number } | undefined {
  const end = bytes.indexOf(headEnd);
  if (end < 0) return undefined;
  const head = bytes.toString('latin1', 0, end).toLowerCase();
  const status = Number(head.slice(9, 12));
  const start = end + headEnd.length;
  const announced = /\r\ncontent-length: *(\d+)/.exec(head);
  if (!announced) return readChunks(bytes, start, status);
  const length = start + Number(announced[1]);
  return bytes.length < length
    ? undefined
    : { answer: { status, body: bytes.subarray(start, length) }, length };
}

function readChunks(bytes: Buffer, start: number, status: number) {
  const parts: Buffer[] = [];
  let at = start;
  for (;;) {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16);
    const next = end + 2 + size + 2;
    if (bytes.length < next) return undefined;
    if (size === 0) return { answer: { status, body: Buffer.concat(parts) }, length: next };
    parts.push(bytes.subarray(end + 2, next - 2));
    at = next;
  }
}
