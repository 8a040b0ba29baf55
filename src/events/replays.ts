import type { LogEntry } from './log.js';
import { createBoundedMap, type Weighed } from './bounded-map.js';

/** Undefined where the entry is left out, or where nobody waits for it any more. */
export type Payload = string | undefined;

/** Payloads of the past, made once for those who want them at about the same time. */
export interface Replays {
  /** A promise only while it is being made. One that failed is made again for whoever comes again. */
  of(entry: LogEntry): Payload | Promise<Payload>;
  clear(): void;
}

interface Replay extends Weighed {
  readonly payload: Payload | Promise<Payload>;
}

/** What a group keeps of the past for those who come back at the same time: payloads, and their characters in all. */
const mostKept = { items: 256, weight: 1_000_000 };

/** Replays of one group, whose payloads this makes. */
export function createReplays(make: (entry: LogEntry) => Payload | Promise<Payload>): Replays {
  const kept = createBoundedMap<Replay>(mostKept);
  return {
    of(entry) {
      const known = kept.get(entry.seq);
      if (known) return known.payload;
      const { seq } = entry;
      const payload = make(entry);
      if (payload instanceof Promise) {
        const making = { seq, weight: 0, payload };
        const keep = (made: Payload) => {
          if (kept.get(seq) === making) kept.add(replayOf(seq, made));
        };
        kept.add(making);
        payload.then(keep, kept.clear);
      } else kept.add(replayOf(seq, payload));
      return payload;
    },
    clear: kept.clear,
  };
}

function replayOf(seq: number, payload: Payload): Replay {
  return { seq, weight: payload?.length ?? 0, payload };
}
