import { GatewayError } from '../../graphql/errors.js';
import { digest } from '../../lib/sealer.js';
import type { EventTable } from '../../store/sql/schema.js';
import type { Executor } from '../../store/store.js';

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
function witnessOf(family: string, eventKey: string, receivedAt: number): string {
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

/** What the position of a stored entry is made from. */
export type PositionRow = Pick<EventTable, 'seq' | 'family' | 'event_id' | 'received_at'>;

/** The position just after the entry of a row. */
export function positionOf({ seq, family, event_id, received_at }: PositionRow): LogPosition {
  return { seq, witness: witnessOf(family, event_id, received_at) };
}

/** The position just after the entry with this number; undefined if there is none. */
export async function readPosition(db: Executor, seq: number): Promise<LogPosition | undefined> {
  const row = await db
    .selectFrom('events')
    .select(['seq', 'family', 'event_id', 'received_at'])
    .where('seq', '=', seq)
    .executeTakeFirst();
  return row && positionOf(row);
}
