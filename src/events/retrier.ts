import { answers, type Database } from '../store/database.js';
import type { Telemetry } from '../telemetry.js';
import { createWarnings } from '../warnings.js';
import { isBroken } from './log.js';

/** Goes on trying what fails, for all that one feed reads and renders. */
export interface Retrier {
  /**
   * Reads from the database until it succeeds, with longer and longer pauses. Never rejects: undefined once nobody
   * waits for it any more. Failures are logged, a line a second however many wait.
   */
  retry<T>(read: () => Promise<T>, patience: Patience): Promise<T | undefined>;
  /** The same for one entry; where that is broken, and stays so, it is given up as by `render`. */
  read<T>(seq: number, read: () => Promise<T>, patience: Patience): Promise<T | undefined>;
  /**
   * The same for the rendering of one event, which may fail by a fault of ours: rejects with `Unrenderable` once it has
   * failed for a minute during which the database answered.
   */
  render<T>(seq: number, work: () => Promise<T>, patience: Patience): Promise<T | undefined>;
  /** Ends every pause: what failed may succeed now. The first success after a failure does so too. */
  wake(): void;
}

/** How long to go on. */
interface Patience {
  /** Whether somebody still waits for it. */
  given(): boolean;
  readonly longestPauseMs?: number;
}

/** When an event that cannot be read or rendered is given up. */
export interface GivingUp {
  readonly failures: number;
  readonly ms: number;
}

/** What a retrier works with. */
export interface RetrierOptions {
  readonly database: Pick<Database, 'ping'>;
  readonly telemetry: Telemetry;
  readonly bound?: GivingUp | undefined;
}

/** An event cannot be read or made into a message by this process; another, of another version, may be able to. */
export class Unrenderable extends Error {
  override readonly name = 'Unrenderable';
}

const logAway = 'the event log cannot be read; retrying';
const eventFailed = 'an event could not be read or rendered; retrying';
const firstPauseMs = 100;
const usualLongestPauseMs = 10_000;
const usualBound: GivingUp = { failures: 10, ms: 60_000 };

/** A retrier whose pauses all end together. */
export function createRetrier(options: RetrierOptions): Retrier {
  const { database, telemetry, bound = usualBound } = options;
  const resting = new Set<() => void>();
  const warn = createWarnings(telemetry);

  function wake(): void {
    for (const rise of resting) rise();
  }

  /** Whether it was ended before its time. */
  function rest(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const rise = (early: boolean) => {
        clearTimeout(timer);
        resting.delete(riseEarly);
        resolve(early);
      };
      const riseEarly = () => rise(true);
      const timer = setTimeout(() => rise(false), ms).unref();
      resting.add(riseEarly);
    });
  }

  async function keepTrying<T>(
    work: () => Promise<T>,
    { given, longestPauseMs = usualLongestPauseMs }: Patience,
    failure: string,
    hasFailed?: (error: unknown) => Promise<void> | void,
  ): Promise<T | undefined> {
    let pauseMs = 0;
    while (given()) {
      try {
        const result = await work();
        if (pauseMs > 0) wake();
        return result;
      } catch (err) {
        if (!given()) return undefined;
        await hasFailed?.(err);
        pauseMs = Math.min(Math.max(pauseMs * 2, firstPauseMs), longestPauseMs);
        warn(failure, () => ({ err, pauseMs }));
        if (await rest(pauseMs)) pauseMs = firstPauseMs / 2;
      }
    }
    return undefined;
  }

  /** Rejects once the work has failed often enough and for long enough while the database answered. */
  function createDoubt(seq: number) {
    let failures = 0;
    let since = 0;
    return async (cause: unknown) => {
      failures = (await answers(database)) ? failures + 1 : 0;
      if (failures <= 1) since = performance.now();
      if (failures < bound.failures || performance.now() - since < bound.ms) return;
      telemetry.log.error(
        { err: cause, seq },
        'an event cannot be read or rendered; its subscribers are disconnected',
      );
      throw new Unrenderable(`The event ${seq} cannot be read or rendered.`, { cause });
    };
  }

  return {
    retry: (read, patience) => keepTrying(read, patience, logAway),
    read(seq, read, patience) {
      const doubt = createDoubt(seq);
      return keepTrying(read, patience, eventFailed, (error) => (isBroken(error) ? doubt(error) : undefined));
    },
    render: (seq, work, patience) => keepTrying(work, patience, eventFailed, createDoubt(seq)),
    wake,
  };
}
