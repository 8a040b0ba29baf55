import { digest } from '../seal.js';

/** A place in the log: just after the entry with this number. */
export interface Place {
  /** 0 before the first entry. */
  readonly seq: number;
  /** Tells the entry from any other that the same log, restored from a backup, may get at this number; '' without an entry. */
  readonly witness: string;
}

const witnessLength = 8;

/** The witness of an entry, the same wherever it is read: of its family, its id as it is stored, and when it came (ms since the epoch). */
export function witnessOf(family: string, eventKey: string, receivedAt: number): string {
  return digest(JSON.stringify([family, eventKey, receivedAt])).slice(0, witnessLength);
}
