import { warn } from './program.js';

/** The process exits after this time, whatever hangs. */
export const maxEndMs = 9_500;

/**
 * The terminal sends Ctrl-C to npm and to us, and npm forwards it; one that closes sends SIGHUP, as its shell does. A
 * repeat this soon is the same signal.
 */
const repeatMs = 500;

/**
 * Stops on the first SIGTERM, SIGINT or SIGHUP, and ends the process at once on a second one. Returns a function that
 * stops without a signal; if that is under way, the process exits with at least this code. `fail` is called if `stop`
 * rejects.
 */
export function onSignal(
  stop: (signal: string | undefined) => Promise<void>,
  fail: (error: unknown) => void,
): (code: number) => void {
  let firstAt: number | undefined;
  let stopping = false;
  let exitCode = 0;

  const end = (code: number, signal?: string) => {
    exitCode = Math.max(exitCode, code);
    if (stopping) return;
    stopping = true;
    setTimeout(endUnfinished, maxEndMs).unref();
    stop(signal).then(() => process.exit(exitCode), fail);
  };

  const handleSignal = (signal: string) => {
    const now = performance.now();
    firstAt ??= now;
    if (now - firstAt > repeatMs) process.exit(1);
    end(0, signal);
  };

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, handleSignal);
  return (code) => end(code);
}

function endUnfinished(): never {
  warn('Shutdown timed out: not everything in progress could be finished.');
  process.exit(1);
}
