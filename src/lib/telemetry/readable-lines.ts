import { inspect } from 'node:util';

const levels: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
};

/** Without these, text from outside cannot write lines of its own, or command a terminal. */
const controls = /[\p{Cc}\u2028\u2029]/gu;

/** A line of the log as a person reads it: the time of day, the level, the message and the rest; an error's stack below. */
export function readableLine(json: string): string {
  const { level, time, msg, err, ...rest } = JSON.parse(json) as Record<string, unknown>;
  const at = new Date(Number(time)).toLocaleTimeString('en-GB');
  const details = Object.entries(rest).map(([name, value]) => `${name}=${shown(value)}`);
  const stack = (err as { readonly stack?: string } | undefined)?.stack;
  const head = [
    at,
    (levels[Number(level)] ?? String(level)).padEnd(5),
    visible(String(msg)),
    ...details,
  ].join(' ');
  const below = stack?.split('\n').map((frame) => `  ${visible(frame)}\n`);
  return `${head}\n${below?.join('') ?? ''}`;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? visible(value) : inspect(value, { breakLength: Infinity });
}

function visible(text: string): string {
  return text.replace(controls, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
