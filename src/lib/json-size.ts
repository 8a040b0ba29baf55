import { LaterJson } from './json.js';

/** What a byte of JSON takes once it is parsed, in bytes of V8's heap (measured with Node.js 20 to 24): two, and this. */
const weights = weightsOf({ '{': 66, '[': 58, ':': 42, ',': 18, '"': 12 });

function weightsOf(characters: Readonly<Record<string, number>>): Int8Array {
  const all = new Int8Array(256);
  for (const [character, weight] of Object.entries(characters)) all[character.charCodeAt(0)] = weight;
  return all;
}

/** A text as short as this is not looked at: it is taken to be the worst. */
const shortBytes = 1_024;
const worst = 30;

/**
 * About how many bytes of heap a JSON text takes, itself and what `JSON.parse` makes of it: an empty object is three
 * bytes on the wire, and sixty in the heap. Takes two milliseconds a megabyte, and less where strings are long.
 */
export function heapOfJson(text: Uint8Array): number {
  return text.length <= shortBytes ? text.length * worst : text.length * 2 + weigh(text, weights, Infinity);
}

/** What begins a value in a list or an object, but for the first in a list or object that is empty. */
const beginnings = weightsOf({ ',': 1, '[': 1, '{': 1 });

/**
 * Whether a JSON text has more commas and opening brackets than this outside of its strings: so many values, where an
 * empty list or object counts twice. Stops counting there.
 */
export function hasMoreValues(text: Uint8Array, most: number): boolean {
  return text.length > most && weigh(text, beginnings, most) > most;
}

/** What begins and ends a level of nesting. */
const levels = weightsOf({ '[': 1, '{': 1, ']': -1, '}': -1 });

/** Whether a JSON text is nested in more levels than this: to parse some takes four times as long as other texts. */
export function isDeeper(text: Uint8Array, most: number): boolean {
  return text.length > most && weigh(text, levels, most) > most;
}

const [quote, backslash] = [0x22, 0x5c];
/** In bytes: from here on, the end of a string is sought by `indexOf`. */
const longString = 64;

/** The weights of all that is outside of strings, and of the quotes around them; stops where these exceed `most`. */
function weigh(text: Uint8Array, weightOf: Int8Array, most: number): number {
  let weight = 0;
  let isString = false;
  let began = 0;
  // Where the next ones are, each sought once: there may be an escape in every second byte.
  let [escape, end] = [-1, -1];
  for (let at = 0; at < text.length && weight <= most; at += 1) {
    const byte = text[at]!;
    if (byte === quote) {
      isString = !isString;
      began = at;
      weight += weightOf[quote]!;
    } else if (!isString) weight += weightOf[byte]!;
    else if (byte === backslash) {
      at += 1;
      began = at; // the next one may be near
    } else if (at - began > longString) {
      if (escape < at) escape = indexFrom(text, backslash, at);
      if (end < at) end = indexFrom(text, quote, at);
      at = Math.min(escape, end) - 1;
    }
  }
  return weight;
}

function indexFrom(text: Uint8Array, byte: number, from: number): number {
  const at = text.indexOf(byte, from);
  return at < 0 ? text.length : at;
}

/** The most characters that a value other than a string takes. */
const longestOther = 25;
/** The most characters that escaping makes of one. */
const longestEscape = 6;
/** In characters: shorter texts are measured as fast as they are found. */
const longText = 1_000;

/** Whether a value has more characters than this as JSON; stops counting there. The value is free of circles. */
export function isLongerAsJson(value: unknown, most: number): boolean {
  return exceeds(value, most, mostOf) && exceeds(value, most, createLengthOf());
}

function mostOf(part: unknown): number {
  return typeof part === 'string' ? part.length * longestEscape + 2 : longestOther;
}

/** Measures exactly; a long text that is met again, since it was read once for many fields, only once. */
function createLengthOf(): (part: unknown) => number {
  const known = new Map<string, number>();
  return (part) => {
    if (typeof part !== 'string' || part.length < longText) return JSON.stringify(part).length;
    const length = known.get(part) ?? JSON.stringify(part).length;
    known.set(part, length);
    return length;
  };
}

/** `measure` gives the length of a string or another scalar. */
function exceeds(root: unknown, most: number, measure: (part: unknown) => number): boolean {
  let characters = 0;
  const containers: object[] = [];
  const count = (value: unknown) => {
    characters += 1; // a comma, or what closes the container around it
    if (value instanceof LaterJson) characters += value.text.length;
    else if (typeof value === 'object' && value !== null) {
      characters += 1;
      containers.push(value);
    } else if (value !== undefined) characters += measure(value);
  };
  count(root);
  // Grows during the loop.
  for (const container of containers) {
    if (Array.isArray(container)) container.forEach(count);
    else
      for (const name in container) {
        characters += measure(name) + 1;
        count((container as Record<string, unknown>)[name]);
      }
    if (characters > most) return true;
  }
  return characters > most;
}
