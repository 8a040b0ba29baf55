/** From here on a number is milliseconds since the epoch, not seconds: as those, it would be the year 5138. */
export const leastEpochMs = 1e11;

const dateTime =
  /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(Z|z|[+-]\d\d(?::?\d\d)?)$/;

/**
 * Converts a date-time (ISO 8601, with an offset) to a text that sorts by time, to the nanosecond: whole seconds in UTC,
 * then the fraction without trailing zeros. Undefined for any other text. `24:00` and leap seconds are accepted.
 */
export function instant(text: string): string | undefined {
  const match = dateTime.exec(text);
  if (!match) return undefined;
  const [, year, month, day, ...time] = match;
  return textOf(midnightOf(Number(year), Number(month), Number(day)), time);
}

const timestamp =
  /^(\d{4})-?(?:(\d\d)-?(\d\d)|W(\d\d)-?([1-7])|(\d{3}))(?:[Tt ](\d\d)(?::?(\d\d)(?::?(\d\d))?)?(?:[.,](\d+))?(?: ?(Z|z|[+-]\d\d(?::?\d\d)?))?)?$/;

/**
 * The same for a timestamp that a service only calls ISO 8601: it may be in the basic form, without `-` and `:`; it may
 * name the day by its week or by its number in the year; without an offset it is in UTC, missing parts of its time are
 * zero, and the last part that is given may have a fraction; and a space may replace the `T` or precede the offset.
 */
export function looseInstant(text: string): string | undefined {
  const match = timestamp.exec(text);
  if (!match) return undefined;
  const [, year, month, day, week, weekday, yearDay, ...time] = match;
  if (month) return textOf(midnightOf(Number(year), Number(month), Number(day)), time);
  if (yearDay) return textOf(midnightOfDay(Number(year), Number(yearDay)), time);
  return textOf(midnightInWeek(Number(year), Number(week), Number(weekday)), time);
}

/** Whether a text has the form of such a timestamp; there may be no such day or time. */
export function isTimestamp(text: string): boolean {
  return timestamp.test(text);
}

/** Hour, minute, second, a fraction of the last of them that is given, and offset. */
type Time = readonly (string | undefined)[];

/** Missing parts are zero, or UTC. */
function textOf(
  midnight: number | undefined,
  [hour, minute, second, decimals, zone]: Time,
): string | undefined {
  const [hours, minutes, seconds] = [Number(hour ?? 0), Number(minute ?? 0), Number(second ?? 0)];
  const offset = offsetMinutes(zone ?? 'Z');
  if (midnight === undefined || minutes > 59 || seconds > 60 || offset === undefined) return undefined;
  const isAfterMidnight = minutes > 0 || seconds > 0 || /[1-9]/.test(decimals ?? '');
  if (hours > 24 || (hours === 24 && isAfterMidnight)) return undefined;
  const start = midnight + (hours * 60 + minutes - offset) * 60 + seconds;
  const unit = second !== undefined ? 1 : minute !== undefined ? 60 : 3_600;
  const nanoseconds = nanosecondsOf(decimals ?? '', unit);
  const fraction = String(nanoseconds % 1_000_000_000n)
    .padStart(9, '0')
    .replace(/0{1,9}$/, '');
  return key(start + Number(nanoseconds / 1_000_000_000n)) + fraction;
}

/** Digits of a fraction that count: those of a nanosecond, even in a fraction of an hour. */
const countedDigits = 13;

/** A fraction of a unit of so many seconds, cut to whole nanoseconds. */
function nanosecondsOf(decimals: string, unit: number): bigint {
  const counted = BigInt(decimals.slice(0, countedDigits).padEnd(countedDigits, '0'));
  return (counted * BigInt(unit)) / 10_000n; // of 10⁻¹³ seconds
}

/** Seconds since the year 0, shifted to stay positive for any offset and padded to a fixed width. */
function key(seconds: number): string {
  return String(seconds + 86_400).padStart(12, '0') + '.';
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

/** The same for a day by its number in the year. */
function midnightOfDay(year: number, day: number): number | undefined {
  const date = new Date(Date.UTC(year + 400, 0, day));
  return date.getUTCFullYear() === year + 400 ? (date.getTime() - yearZero) / 1000 : undefined;
}

/** The same for a day of a week, 1 to 7; a week belongs to the year of its Thursday, and begins with Monday. */
function midnightInWeek(year: number, week: number, day: number): number | undefined {
  const weekdayOfFirst = new Date(Date.UTC(year + 400, 0, 1)).getUTCDay();
  const firstThursday = 1 + ((11 - weekdayOfFirst) % 7);
  const thursday = midnightOfDay(year, firstThursday + (week - 1) * 7);
  return thursday === undefined ? undefined : thursday + (day - 4) * 86_400;
}

function offsetMinutes(offset: string): number | undefined {
  if (offset === 'Z' || offset === 'z') return 0;
  const [hours, minutes] = [Number(offset.slice(1, 3)), Number(offset.slice(3).replace(':', '') || 0)];
  if (hours > 23 || minutes > 59) return undefined;
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}
