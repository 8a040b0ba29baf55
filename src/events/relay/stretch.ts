import type { Sealer } from '../../lib/sealer.js';
import { entryOf, type EventRow, type LogEntry } from '../log/log.js';
import { positionOf, type LogPosition } from '../log/log-position.js';

/** Entries that follow each other in the log, as the relay carries them. */
export interface RelayedStretch {
  /** The position before the first of them: the predecessor. */
  readonly after: LogPosition;
  /** The position after the last of them. */
  readonly end: LogPosition;
  /** None where it is only a reference: then what lies between the two positions, if anything, is in the database. */
  readonly entries: readonly LogEntry[];
}

/** A stretch as it is written: its entries are the rows of the log. */
interface Written extends Omit<RelayedStretch, 'entries'> {
  readonly rows: readonly EventRow[];
}

/** What a sealed stretch is bound to. A version that writes stretches in another way has another number here. */
const sealedAs = 'relay 1';
/** What a stretch has besides its rows, in bytes. */
const frameBytes = 256;

/** A sealed stretch without entries: whoever is at another position than this one reads the database. */
export function sealReference(sealer: Sealer, after: LogPosition, end: LogPosition): string {
  return seal(sealer, { after, end, rows: [] });
}

/**
 * The rows that follow a position, sealed: in as few messages as `maxBytes` allows, in order. A row that takes more
 * goes as a reference.
 */
export function* sealRows(
  sealer: Sealer,
  after: LogPosition,
  rows: readonly EventRow[],
  maxBytes: number,
): Generator<string> {
  const most = Math.floor((maxBytes * 3) / 4) - frameBytes; // sealed text is base64url
  let from = after;
  let taken: EventRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    const more = Buffer.byteLength(JSON.stringify(row)) + 1;
    if (taken.length > 0 && bytes + more > most) {
      const end = positionOf(taken.at(-1)!);
      yield seal(sealer, { after: from, end, rows: taken });
      [from, taken, bytes] = [end, [], 0];
    }
    if (more > most) {
      const end = positionOf(row);
      yield sealReference(sealer, from, end);
      from = end;
      continue;
    }
    taken.push(row);
    bytes += more;
  }
  if (taken.length > 0) yield seal(sealer, { after: from, end: positionOf(taken.at(-1)!), rows: taken });
}

function seal(sealer: Sealer, written: Written): string {
  return sealer.seal(JSON.stringify(written), sealedAs);
}

/** The stretch in a message; undefined if none of our keys has sealed it. */
export function openStretch(sealer: Sealer, sealed: string): RelayedStretch | undefined {
  const text = sealer.open(sealed, sealedAs);
  if (text === undefined) return undefined;
  const { after, end, rows } = JSON.parse(text) as Written;
  return { after, end, entries: rows.map(entryOf) };
}
