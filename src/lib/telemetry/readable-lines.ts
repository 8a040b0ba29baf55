import { inspect } from 'node:util';

const levels: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
};

/** A line of the log as a person reads it: the time of day, the level, the message and the rest; an error's stack below. */
export function readableLine(json: string): string {
  const { level, time, msg, err, ...rest } = JSON.parse(json) as Record<string, unknown>;
  const at = new Date(Number(time)).toLocaleTimeString('en-GB');
  const details = Object.entries(rest).map(([name, value]) => `${name}=${shown(value)}`);
  const stack = (err as { readonly stack?: string } | undefined)?.stack;
  const head = [at, (levels[Number(level)] ?? String(level)).padEnd(5), String(msg), ...details].join(' ');
  return `${head}\n${stack === undefined ? '' : `  ${stack.replaceAll('\n', '\n  ')}\n`}`;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : inspect(value, { breakLength: Infinity });
}
