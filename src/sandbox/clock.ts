/** A task run by a clock; only `advance` awaits its promise. */
export type Task = () => void | Promise<void>;

/** A clock that runs in real time and can also be moved forward. */
export interface Clock {
  /** Milliseconds since 1970: real time plus everything that it was advanced by. */
  now(): number;
  /** Moves time forward, and runs each task that becomes due at its own time, one after the other. */
  advance(ms: number): Promise<void>;
  /** Runs the task once `ms` have passed, by real time or by `advance`; returns a function that cancels it. */
  setTimeout(task: Task, ms: number): () => void;
  /** Resolves once `ms` have passed, as `setTimeout` does. */
  sleep(ms: number): Promise<void>;
  /** Drops every timer and accepts no more. */
  stop(): void;
}

interface Timer {
  readonly due: number;
  readonly task: Task;
}

/** The longest delay of the platform's own timers (some 24.8 days). */
const maxWait = 2 ** 31 - 1;

/** A clock that starts at the present time. */
export function createClock(): Clock {
  const timers = new Set<Timer>();
  let ahead = 0;
  let stopped = false;
  let alarm: NodeJS.Timeout | undefined;

  const now = () => Date.now() + ahead;

  function next(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of timers) if (!first || timer.due < first.due) first = timer;
    return first;
  }

  function arm(): void {
    clearTimeout(alarm);
    const timer = next();
    if (!timer) return;
    alarm = setTimeout(ring, Math.min(Math.max(timer.due - now(), 0), maxWait));
    alarm.unref();
  }

  function ring(): void {
    for (let timer = next(); timer && timer.due <= now(); timer = next()) void fire(timer);
    arm();
  }

  async function fire(timer: Timer): Promise<void> {
    timers.delete(timer);
    await timer.task();
  }

  function moveTo(moment: number): void {
    ahead += Math.max(0, moment - now());
  }

  async function advance(ms: number): Promise<void> {
    const target = now() + ms;
    for (let timer = next(); timer && timer.due <= target; timer = next()) {
      moveTo(timer.due);
      await fire(timer);
    }
    moveTo(target);
    arm();
  }

  function setTimer(task: Task, ms: number): () => void {
    if (stopped) return () => {};
    const timer = { due: now() + ms, task };
    timers.add(timer);
    arm();
    return () => void timers.delete(timer);
  }

  function stop(): void {
    stopped = true;
    timers.clear();
    clearTimeout(alarm);
  }

  const sleep = (ms: number) => new Promise<void>((resolve) => setTimer(resolve, ms));
  return { now, advance, setTimeout: setTimer, sleep, stop };
}
