import { msOf } from '../../data/instant.js';

/** The Monday of a day's week, at midnight here. */
export function weekOf(day: Date): Date {
  const monday = new Date(day.getFullYear(), day.getMonth(), day.getDate());
  monday.setDate(monday.getDate() - ((monday.getDay() + 6) % 7));
  return monday;
}

/** The seven days of the week that begins on `monday`; a change to summer time moves no day. */
export function daysOf(monday: Date): readonly Date[] {
  return Array.from({ length: 7 }, (_, index) => addDays(monday, index));
}

/** So many days later, at the same time of day. */
export function addDays(day: Date, days: number): Date {
  const later = new Date(day);
  later.setDate(later.getDate() + days);
  return later;
}

/** A day as an address has it: `2026-11-23`. */
export function dayName(day: Date): string {
  const parts = [day.getFullYear(), day.getMonth() + 1, day.getDate()];
  return parts.map((part) => String(part).padStart(2, '0')).join('-');
}

/** The day that an address names, at midnight here; today if it names none, or one near the end of time. */
export function dayFrom(name: string | undefined): Date {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(name ?? '') ?? [];
  const named = new Date(Number(year), Number(month) - 1, Number(day));
  return dayName(named) === name && named.getFullYear() < 9999 ? named : new Date();
}

/** Whether a time is on a day. */
export function isOn(day: Date, at: string): boolean {
  const ms = msOf(at);
  return ms >= day.getTime() && ms < addDays(day, 1).getTime();
}

/** A local time, as a form has it (`2026-11-23T09:00`), with its offset, as the gateway takes it. */
export function withOffset(local: string): string {
  const ms = Date.parse(local);
  if (Number.isNaN(ms)) return local;
  // Of the time as it was read: one that summer time leaves out is an hour later.
  const minutes = Math.round((Date.parse(`${local}Z`) - ms) / 60_000);
  const sign = minutes < 0 ? '-' : '+';
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${local}:00${sign}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`;
}

/** Tomorrow at an hour, as a form has it. */
export function tomorrowAt(hour: number, minute = 0): string {
  const clock = [hour, minute].map((part) => String(part).padStart(2, '0')).join(':');
  return `${dayName(addDays(new Date(), 1))}T${clock}`;
}
