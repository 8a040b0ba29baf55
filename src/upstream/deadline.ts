/** The end of a call: at its own time, or when the operation around it ends. */
export interface Deadline {
  /** Aborted at the end, whichever it is. */
  readonly signal: AbortSignal;
  /** Whether it was the call's own time that ran out. */
  readonly expired: boolean;
  /** Lets go of timer and operation; to be called when the call is over. */
  stop(): void;
}

/** Starts a deadline of `ms` milliseconds within an operation. */
export function startDeadline(ms: number, operation?: AbortSignal): Deadline {
  const controller = new AbortController();
  let expired = false;
  const abandon = () => controller.abort();
  const timer = setTimeout(() => {
    expired = true;
    controller.abort();
  }, ms);
  if (operation?.aborted) abandon();
  else operation?.addEventListener('abort', abandon, { once: true });
  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    stop() {
      clearTimeout(timer);
      operation?.removeEventListener('abort', abandon);
    },
  };
}
