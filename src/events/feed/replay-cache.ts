import type { LogEntry } from '../log/log.js';
import { createCache } from '../../lib/cache/cache.js';
import type { Payload } from './member.js';

/** Payloads of past entries, rendered once for those who want them at about the same time. */
export interface Replays {
  /** A promise only while it is being rendered. After a failure, the next call renders it again. */
  of(entry: LogEntry): Payload | Promise<Payload>;
  clear(): void;
}

interface Replay {
  readonly payload: Payload | Promise<Payload>;
}

/** How many payloads a group keeps, and with how many characters in total. */
const maxPayloads = 256;
const maxCharacters = 1_000_000;

/** The replays of one group, for which `make` renders payloads. */
export function createReplays(make: (entry: LogEntry) => Payload | Promise<Payload>): Replays {
  const kept = createCache<Replay, number>(maxPayloads, maxCharacters);
  const keep = (seq: number, payload: Payload): void => kept.set(seq, { payload }, payload?.length ?? 0);
  return {
    of(entry) {
      const { seq } = entry;
      const known = kept.get(seq);
      if (known) return known.payload;
      const payload = make(entry);
      if (payload instanceof Promise) {
        const making = { payload };
        kept.set(seq, making, 0);
        const keepMade = (made: Payload): void => {
          if (kept.get(seq) === making) keep(seq, made);
        };
        payload.then(keepMade, kept.clear);
      } else keep(seq, payload);
      return payload;
    },
    clear: kept.clear,
  };
}
