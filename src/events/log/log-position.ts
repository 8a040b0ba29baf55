import { GatewayError } from '../../graphql/errors.js';
import { digest } from '../../lib/sealer.js';

/** A position in the log: just after the entry with this number. */
export interface LogPosition {
  /** 0 before the first entry. */
  readonly seq: number;
  /** Distinguishes the entry from one that got the same number after a restore from a backup; '' without an entry. */
  readonly witness: string;
}

/** A position by itself: a log entry, which is one too, would keep its event in memory. */
export function positionAt({ seq, witness }: LogPosition): LogPosition {
  return { seq, witness };
}

/** The error for a position that the log can no longer be read from. */
export function expired(): GatewayError {
  return new GatewayError(
    'CURSOR_EXPIRED',
    'The cursor has expired: the log can no longer be read from there. Query again and use the new `liveCursor`.',
  );
}

const witnessLength = 8;

/** The witness of an entry, the same on every replica: a digest of its family, stored id and time of receipt. */
export function witnessOf(family: string, eventKey: string, receivedAt: number): string {
  return digest(JSON.stringify([family, eventKey, receivedAt])).slice(0, witnessLength);
}

/** A position as the text that a signal carries. */
export function positionText({ seq, witness }: LogPosition): string {
  return `${seq} ${witness}`;
}

/** The position that a signal names; undefined if the signal only says that there may be something new. */
export function positionFrom(text: string): LogPosition | undefined {
  const [seq, witness] = text.split(' ');
  return witness === undefined ? undefined : { seq: Number(seq), witness };
}
