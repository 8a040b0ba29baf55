const numbers = new Intl.NumberFormat('en');

/** A whole number with its thousands apart. */
export const number = (value: number): string => numbers.format(value);

/** So many of something, as `1 event` and `2 events`. */
export function count(many: number, noun: string, plural = `${noun}s`): string {
  return `${number(many)} ${many === 1 ? noun : plural}`;
}

/** A message of the gateway, and in how long to try again; `then` says what happens, if not that. */
export function withWait(message: string, seconds: number, then = 'Try again'): string {
  const wait = seconds > 120 ? `${Math.ceil(seconds / 60)} minutes` : `${seconds} s`;
  return `${message.replace(/(; try again later)?\.$/, '')}. ${then} in ${wait}`;
}

/** A code as words: `OUT_FOR_DELIVERY` as `Out for delivery`, `NOSHOW` as `No show`. */
export function sentence(code: string): string {
  const words = code.replace('NOSHOW', 'NO_SHOW').toLowerCase().replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
