/** A day, and then as much of a time as is given. */
const written =
  /^(\d{4})-?(\d\d)-?(\d\d)(?:[Tt ](\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,](\d+))?)?)?(?: ?(?:[Zz]|([+-]\d\d):?(\d\d)?))?)?$/;

/**
 * A time in milliseconds; NaN if it is in none of the usual forms. Browsers read some of those that services send not at
 * all, and one without an offset, which means UTC, as a time in their own zone.
 */
export function msOf(at: string): number {
  const match = written.exec(at);
  if (!match) return NaN;
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = '0', ...offset] = match;
  const [hours = '+00', minutes = '00'] = offset;
  const seconds = second === '60' ? '59' : second; // browsers know no leap second
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${seconds}.${fraction}${hours}:${minutes}`);
}
