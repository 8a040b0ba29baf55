/** An e-mail address with the letters A to Z in lower case: what else looks alike is another address. */
export function foldAddress(address: string): string {
  return address.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** A tag's name as this service compares it: each code point by itself, as one code point. */
export function foldName(name: string): string {
  return Array.from(name, (point) => String.fromCodePoint(point.toLowerCase().codePointAt(0)!)).join('');
}
