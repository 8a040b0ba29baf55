import type { LogEntry } from '../log/log.js';
import type { Place } from '../log/log-position.js';
import type { Payload } from './replay-cache.js';

/** What a group reads and renders in one turn. */
export interface Stretch {
  readonly payloads: readonly string[];
  /** The places just after their entries. */
  readonly places: readonly Place[];
  /** How many entries it covers, including excluded ones. */
  readonly length: number;
  /** The place just after the last of them; undefined if there is none. */
  readonly end: Place | undefined;
  /** The entry after it, and its payload, if that is still being rendered. */
  readonly next?: { readonly entry: LogEntry; readonly payload: Promise<Payload> };
}

/** How many characters a group sends to each member in one turn; only the last payload may go beyond. */
const maxPerTurn = 32_768;
/** Nothing, not even an excluded entry. */
export const nothing: Stretch = { payloads: [], places: [], length: 0, end: undefined };

/** This entry, and those after it while they are in memory and their payloads are available synchronously. */
export function gather(
  first: LogEntry,
  after: (index: number) => LogEntry | undefined,
  payloadOf: (entry: LogEntry) => Payload | Promise<Payload>,
): Stretch {
  const payloads: string[] = [];
  const places: Place[] = [];
  let length = 0;
  let size = 0;
  let end: Place | undefined;
  for (let entry: LogEntry | undefined = first; entry && size < maxPerTurn; entry = after(length)) {
    const payload = payloadOf(entry);
    if (payload instanceof Promise) return { payloads, places, length, end, next: { entry, payload } };
    length += 1;
    end = placeOf(entry);
    if (payload === undefined) continue;
    size += payload.length;
    payloads.push(payload);
    places.push(end);
  }
  return { payloads, places, length, end };
}

/** One entry, whose payload had to be waited for. */
export function single(entry: LogEntry, payload: Payload): Stretch {
  const end = placeOf(entry);
  return payload === undefined
    ? { payloads: [], places: [], length: 1, end }
    : { payloads: [payload], places: [end], length: 1, end };
}

function placeOf({ seq, witness }: LogEntry): Place {
  return { seq, witness };
}
