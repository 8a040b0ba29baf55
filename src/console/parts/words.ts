const numbers = new Intl.NumberFormat('en');

/** A whole number with its thousands apart. */
export const number = (value: number): string => numbers.format(value);

/** So many of something, as `1 event` and `2 events`. */
export function count(many: number, noun: string, plural = `${noun}s`): string {
  return `${number(many)} ${many === 1 ? noun : plural}`;
}

/** A code as words: `OUT_FOR_DELIVERY` as `Out for delivery`. */
export function sentence(code: string): string {
  const words = code.toLowerCase().replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
