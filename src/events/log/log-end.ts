import type { Log } from './log.js';
import type { Place } from './log-position.js';

/** Where a log ends, and which log it is. */
export interface LogEnd {
  /** As `Bounds.id`. */
  readonly id: string;
  readonly place: Place;
}

/** The end of the log at the time of reading. */
export async function findEnd(log: Log): Promise<LogEnd> {
  const { id, head: seq } = await log.bounds();
  return { id, place: (await log.place(seq)) ?? { seq, witness: '' } };
}
