import type { ReactElement } from 'react';
import { msOf } from '../data/instant.js';
import { useNow } from './clock.js';
import { SafeText } from './safe-text.js';

const full = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
const clockTime = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const hourAndMinute = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const dayAndTime = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});

interface TimeProps {
  /** As the service wrote it: not all of these can be read as a time. */
  readonly at: string;
}

/** A time in the reader's zone, with the text as it was written as its title; that text if it cannot be read. */
export function Moment({
  at,
  form = 'full',
}: TimeProps & { readonly form?: 'full' | 'clock' | 'minute' | 'short' }): ReactElement {
  const ms = msOf(at);
  if (Number.isNaN(ms)) return <SafeText>{at}</SafeText>;
  const format = { full, clock: clockTime, minute: hourAndMinute, short: dayAndTime }[form];
  return (
    <time dateTime={new Date(ms).toISOString()} title={at}>
      {format.format(ms)}
    </time>
  );
}

/** How long ago a time is, kept up to date. */
export function Ago({ at }: TimeProps): ReactElement {
  const now = useNow();
  const ms = msOf(at);
  if (Number.isNaN(ms)) return <SafeText>{at}</SafeText>;
  return (
    <time dateTime={new Date(ms).toISOString()} title={full.format(ms)}>
      {ago(now - ms)}
    </time>
  );
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** A span as `3 min`, in the greatest unit that it fills. */
export function span(ms: number): string {
  const [unit, size] = units.find(([, least]) => Math.abs(ms) >= least) ?? ['s', 1000];
  return `${Math.floor(Math.abs(ms) / size)} ${unit}`;
}

/** How long ago, or how far ahead; a second or two is now. */
function ago(ms: number): string {
  if (Math.abs(ms) < 2000) return 'now';
  return ms < 0 ? `in ${span(ms)}` : `${span(ms)} ago`;
}
