import { inspect } from 'node:util';
import { isObject } from '../json.js';

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

/** A line of the log as a person reads it: the time of day, the level, the message and the rest; below, an error and its causes. */
export function readableLine(json: string): string {
  const { level, time, msg, err, ...rest } = JSON.parse(json) as Record<string, unknown>;
  const at = new Date(Number(time)).toLocaleTimeString('en-GB');
  const details = Object.entries(rest).map(([name, value]) => `${name}=${shown(value)}`);
  const head = [
    at,
    (levels[Number(level)] ?? String(level)).padEnd(5),
    visible(String(msg)),
    ...details,
  ].join(' ');
  const below = err === undefined ? [] : linesOf(err);
  return [head, ...below.map((line) => `  ${visible(line)}`), ''].join('\n');
}

/** An error as the log has it: with its stack or, if that was shown not long ago, without. */
function linesOf(err: unknown, role = ''): readonly string[] {
  if (!isObject(err) || !('message' in err)) return [`${role}${shown(err)}`];
  const { name, message, stack = `${String(name)}: ${String(message)}`, cause, errors } = err;
  return [
    ...`${role}${String(stack)}`.split('\n'),
    ...(cause === undefined ? [] : linesOf(cause, 'caused by ')),
    ...(Array.isArray(errors) ? errors.flatMap((each) => linesOf(each, 'one of them ')) : []),
  ];
}

function shown(value: unknown): string {
  return typeof value === 'string' ? visible(value) : inspect(value, { breakLength: Infinity });
}

function visible(text: string): string {
  return text.replace(controls, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
