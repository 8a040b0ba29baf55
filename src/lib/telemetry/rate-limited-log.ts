import type { Telemetry } from './telemetry.js';

/** Logs what may come in bursts; `about` is called only if a line is written. */
export type Warn = (message: string, about?: () => object, kind?: string) => void;

/** How warnings are written. */
interface Options {
  readonly level?: 'warn' | 'error';
  /** The shortest time between two lines of one kind. */
  readonly quietMs?: number;
}

/**
 * Rate-limited warnings for the operator: by default at most one line a second for each kind, which says how many were
 * suppressed since the one before. The kind is the message, unless another is given. Kinds are kept for ever, so they
 * must be few: none may be made of text from outside.
 */
export function createWarnings(
  { log }: Pick<Telemetry, 'log'>,
  { level = 'warn', quietMs = 1_000 }: Options = {},
): Warn {
  const latest = new Map<string, { readonly at: number; suppressed: number }>();

  return (message, about, kind = message) => {
    const now = performance.now();
    const last = latest.get(kind);
    if (last && now - last.at < quietMs) {
      last.suppressed += 1;
      return;
    }
    latest.set(kind, { at: now, suppressed: 0 });
    log[level]({ ...about?.(), suppressed: last?.suppressed ?? 0 }, message);
  };
}
