import type { LogEntry } from '../log/log.js';
import { createBoundedMap, type Weighed } from '../../lib/cache/bounded-map.js';

/** A rendered entry; undefined if the entry is excluded, or nobody waits for it any more. */
export type Payload = string | undefined;

/** Payloads of past entries, rendered once for those who want them at about the same time. */
export interface Replays {
  /** A promise only while it is being rendered. After a failure, the next call renders it again. */
  of(entry: LogEntry): Payload | Promise<Payload>;
  clear(): void;
}

interface Replay extends Weighed {
  readonly payload: Payload | Promise<Payload>;
}

/** How many payloads a group keeps, and with how many characters in total. */
const maxKept = { items: 256, weight: 1_000_000 };

/** The replays of one group, for which `make` renders payloads. */
export function createReplays(make: (entry: LogEntry) => Payload | Promise<Payload>): Replays {
  const kept = createBoundedMap<Replay>(maxKept);
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
