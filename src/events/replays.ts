import type { LogEntry } from './log.js';
import { createRing, type Weighed } from './ring.js';

/** Undefined where the entry is left out, or where nobody waits for it any more. */
export type Payload = string | undefined;

/** Payloads of the past, made once for those who want them at about the same time. */
export interface Replays {
  /** A promise only while it is being made. One that fails is made again for who comes again. */
  of(entry: LogEntry): Payload | Promise<Payload>;
  clear(): void;
}

interface Replay extends Weighed {
  payload: Payload | Promise<Payload>;
}

/** What a group keeps of the past for those who come back at the same time. */
const mostKept = { items: 256, weight: 1_000_000 };

/** Replays of one group, whose payloads this makes. */
export function createReplays(make: (entry: LogEntry) => Payload | Promise<Payload>): Replays {
  const kept = createRing<Replay>(mostKept);
  return {
    of(entry) {
      const known = kept.get(entry.seq);
      if (known) return known.payload;
      const { seq, weight } = entry;
      const replay: Replay = { seq, weight, payload: make(entry) };
      kept.add(replay);
      if (replay.payload instanceof Promise)
        replay.payload.then((payload) => (replay.payload = payload), kept.clear);
      return replay.payload;
    },
    clear: kept.clear,
  };
}
