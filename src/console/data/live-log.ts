import { createStore, type Store } from './store.js';

/** The two families of webhooks. */
export const families = ['shipments', 'payments'] as const;
export type Family = (typeof families)[number];

/** What the plot counts: stored events by family, and deliveries that became none by outcome. */
export type Series = Family | 'skipped' | 'duplicate' | 'refused';

/** What the last hour is read from: the events of a family, or the deliveries. */
export type Source = Family | 'deliveries';

/** One event or delivery, as the live view lists it. */
export interface LiveEvent {
  readonly key: string;
  readonly series: Series;
  readonly family: Family;
  readonly type: string;
  readonly entityId: string | undefined;
  readonly receivedAt: string;
  /** The state had already moved past it when it came. */
  readonly isLate: boolean;
  /** It came while the connection was cut, and was caught up on. */
  readonly isCaughtUp: boolean;
  /** What became of a delivery that is no event, in words. */
  readonly note?: string;
}

/** The last hour. */
export interface LiveState {
  /** The newest ones, newest first. */
  readonly newest: readonly LiveEvent[];
  /** Counts by the number of the minute since 1970. */
  readonly minutes: ReadonlyMap<number, Readonly<Partial<Record<Series, number>>>>;
  /** Whose last hour is counted; of the others there is only what came since. */
  readonly read: ReadonlySet<Source>;
  /** Before this time, in milliseconds, some are not counted; undefined if all of the hour are. */
  readonly missingBefore: number | undefined;
}

/** How many minutes the plot shows. */
export const shownMinutes = 60;
const maxNewest = 200;
/** Enough for an hour of five events a second; what is older is not recognised when it comes again. */
const maxKnown = 20_000;
const flushMs = 120;

/** Counts and keeps what comes; many in one moment are shown together. */
export interface LiveLog {
  readonly state: Pick<Store<LiveState>, 'get' | 'subscribe'>;
  /** With `read`, these are all of the last hour of that source. */
  add(events: readonly LiveEvent[], read?: Source): void;
  /** Notes that some of those before this time, in milliseconds, were not added. */
  missedBefore(ms: number): void;
}

/** Begins with nothing. */
export function createLiveLog(now: () => number = Date.now): LiveLog {
  const state = createStore<LiveState>({
    newest: [],
    minutes: new Map(),
    read: new Set(),
    missingBefore: undefined,
  });
  let known = new Set<string>();
  let waiting: LiveEvent[] = [];
  let reading: Source[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;

  function flush(): void {
    timer = undefined;
    const { newest, minutes, read, ...rest } = state.get();
    const [added, nowRead] = [waiting, reading];
    [waiting, reading] = [[], []];
    state.set({
      ...rest,
      newest: [...added, ...newest].toSorted(byReceipt).slice(0, maxNewest),
      minutes: counted(minutes, added, minuteOf(now())),
      read: new Set([...read, ...nowRead]),
    });
  }

  return {
    state,
    add(events, read) {
      const fresh = events.filter(({ key }) => !known.has(key));
      if (read) reading.push(read);
      else if (fresh.length === 0) return;
      if (known.size > maxKnown) known = new Set([...known].slice(maxKnown / 2));
      for (const { key } of fresh) known.add(key);
      waiting.push(...fresh);
      timer ??= setTimeout(flush, flushMs);
    },
    missedBefore(ms) {
      const { missingBefore = -Infinity } = state.get();
      state.set({ ...state.get(), missingBefore: Math.max(ms, missingBefore) });
    },
  };
}

/** The number of the minute since 1970. */
export function minuteOf(ms: number): number {
  return Math.floor(ms / 60_000);
}

function byReceipt(one: LiveEvent, other: LiveEvent): number {
  return Date.parse(other.receivedAt) - Date.parse(one.receivedAt);
}

function counted(
  before: LiveState['minutes'],
  events: readonly LiveEvent[],
  current: number,
): LiveState['minutes'] {
  const minutes = new Map([...before].filter(([minute]) => minute > current - shownMinutes));
  for (const { receivedAt, series } of events) {
    const minute = minuteOf(Date.parse(receivedAt));
    if (!(minute > current - shownMinutes)) continue;
    const counts = minutes.get(minute) ?? {};
    minutes.set(minute, { ...counts, [series]: (counts[series] ?? 0) + 1 });
  }
  return minutes;
}
