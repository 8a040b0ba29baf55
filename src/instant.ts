const dateTime =
  /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(Z|z|[+-]\d\d(?::?\d\d)?)$/;

/**
 * Converts a date-time (ISO 8601, with an offset) to a text that sorts by time, exact to any fraction: whole seconds in
 * UTC, then the fraction without trailing zeros. Undefined for any other text. `24:00` and leap seconds are accepted.
 */
export function instant(text: string): string | undefined {
  const match = dateTime.exec(text);
  if (!match) return undefined;
  const part = (group: number) => Number(match[group] ?? 0);
  const [hour, minute, second] = [part(4), part(5), part(6)];
  const [midnight, offset] = [midnightOf(part(1), part(2), part(3)), offsetMinutes(match[8]!)];
  if (midnight === undefined || minute > 59 || second > 60 || offset === undefined) return undefined;
  const fraction = withoutZeros(match[7] ?? '');
  if (hour > 24 || (hour === 24 && (minute > 0 || second > 0 || fraction !== ''))) return undefined;
  return key(midnight + (hour * 60 + minute - offset) * 60 + second) + fraction;
}

const timestamp =
  /^(\d{4})-?(\d\d)-?(\d\d)(?:[Tt ](\d\d)(?::?(\d\d)(?::?(\d\d(?:[.,]\d+)?))?)?(?: ?([^\s\d:.,]\S*))?)?$/;

/**
 * The same for a timestamp that a service only calls ISO 8601: it may be in the basic form, without `-` and `:`;
 * without an offset it is in UTC, missing parts of its time are zero, and a space may replace the `T` or precede the
 * offset.
 */
export function looseInstant(text: string): string | undefined {
  const match = timestamp.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour = '00', minute = '00', second = '00', offset = 'Z'] = match;
  return instant(`${year}-${month}-${day}T${hour}:${minute}:${second}${offset}`);
}

/** Seconds since the year 0, shifted to stay positive for any offset and padded to a fixed width. */
function key(seconds: number): string {
  return String(seconds + 86_400).padStart(12, '0') + '.';
}

/** Without trailing zeros; the regular expression `/0+$/` could take quadratic time. */
function withoutZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}

const yearZero = Date.UTC(400, 0);

/**
 * When a day begins, in seconds since the year 0; undefined if there is no such day. `Date.UTC` takes the years 0 to 99
 * for 1900 to 1999, so 400 years are added, after which the calendar repeats.
 */
function midnightOf(year: number, month: number, day: number): number | undefined {
  const date = new Date(Date.UTC(year + 400, month - 1, day));
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  return (date.getTime() - yearZero) / 1000;
}

function offsetMinutes(offset: string): number | undefined {
  if (offset === 'Z' || offset === 'z') return 0;
  const [hours, minutes] = [Number(offset.slice(1, 3)), Number(offset.slice(3).replace(':', '') || 0)];
  if (hours > 23 || minutes > 59) return undefined;
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}
