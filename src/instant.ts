const dateTime =
  /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(Z|z|[+-]\d\d(?::?\d\d)?)$/;

/**
 * A date-time (ISO 8601, with an offset) as a text that sorts by time, exact to any fraction: UTC digits, then the
 * fraction without trailing zeros. Undefined where the text is no such date-time. `24:00` and a leap second are taken.
 */
export function instant(text: string): string | undefined {
  const match = dateTime.exec(text);
  if (!match) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((digits) => Number(digits ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const offset = offsetMinutes(match[8]!);
  if (!isDate(year, month, day) || minute > 59 || second > 60 || offset === undefined) return undefined;
  const fraction = withoutZeros(match[7] ?? '');
  if (hour > 24 || (hour === 24 && (minute > 0 || second > 0 || fraction !== ''))) return undefined;
  const time = new Date(0);
  time.setUTCFullYear(year, month - 1, day);
  time.setUTCHours(hour, minute - offset, second);
  return key(time.getTime()) + fraction;
}

const timestamp = /^(\d{4}-\d\d-\d\d)(?:[Tt ]([\d:.,]+)([^\s\d:.,]\S*)?)?$/;

/**
 * The same for a timestamp of which a service says only that it is ISO 8601: it is in UTC where it has no offset, and the
 * day's first moment where it has no time; a blank may stand for the `T`.
 */
export function looseInstant(text: string): string | undefined {
  const match = timestamp.exec(text);
  if (!match) return undefined;
  const [, date, time = '00:00', offset = 'Z'] = match;
  return instant(`${date}T${time}${offset}`);
}

/** Seconds since the year 0000, shifted to stay positive for any offset and padded to one width. */
function key(milliseconds: number): string {
  return String(milliseconds / 1000 + 62_167_305_600).padStart(12, '0') + '.';
}

/** Without the zeros at the end; a search for `0+$` would begin anew at each zero before. */
function withoutZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}

function isDate(year: number, month: number, day: number): boolean {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function offsetMinutes(offset: string): number | undefined {
  if (offset === 'Z' || offset === 'z') return 0;
  const [hours, minutes] = [Number(offset.slice(1, 3)), Number(offset.slice(3).replace(':', '') || 0)];
  if (hours > 23 || minutes > 59) return undefined;
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}
