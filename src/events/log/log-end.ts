import type { Log } from './log.js';
import type { LogPosition } from './log-position.js';

/** Where a log ends, and which log it is. */
export interface LogEnd {
  /** As `Bounds.id`. */
  readonly id: string;
  readonly position: LogPosition;
}

/** The end of the log at the time of reading. */
export async function findEnd(log: Log): Promise<LogEnd> {
  const { id, head: seq } = await log.bounds();
  return { id, position: (await log.position(seq)) ?? { seq, witness: '' } };
}
