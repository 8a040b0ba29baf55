import type { Telemetry } from './telemetry.js';

/** Warns of what may come in bursts; `about` is called only where a line is written. */
type Warn = (message: string, about?: () => object, kind?: string) => void;

/** How they are written. */
interface Writing {
  readonly level?: 'warn' | 'error';
  /** Between two lines of one kind. */
  readonly quietMs?: number;
}

/**
 * Warnings for the operator: by default at most one line a second for each kind, which says how many more there were
 * since the one before. Every message is a kind, unless it is given another. Each kind is remembered, so none may come
 * from outside.
 */
export function createWarnings(
  { log }: Pick<Telemetry, 'log'>,
  { level = 'warn', quietMs = 1_000 }: Writing = {},
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
