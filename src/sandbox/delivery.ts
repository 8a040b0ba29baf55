import type { Clock } from './clock.js';

/** One attempt: its time, and the receiver's status (null if no answer came). */
export interface Attempt {
  readonly at: number;
  readonly status: number | null;
}

/** An event on its way to one subscription or endpoint; it changes as attempts are made. */
export interface Delivery {
  readonly endpointId: string;
  readonly eventId: string;
  readonly body: string;
  readonly attempts: readonly Attempt[];
  readonly state: 'pending' | 'acknowledged' | 'failed';
}

/**
 * When attempts are made, relative to the first (apis/webhooks.md §8). The document does not say what the delays
 * are relative to, nor how payments are retried: they are retried in the same way.
 */
const scheduleMs = [0, 5, 30, 120].map((minutes) => minutes * 60_000);

/** Makes the first attempt, then the others on schedule until one is answered with 2xx. */
export async function deliver(
  delivery: Omit<Delivery, 'attempts' | 'state'>,
  clock: Clock,
  post: () => Promise<number | null>,
  remember: (delivery: Delivery) => void,
  schedule: readonly number[] = scheduleMs,
): Promise<Delivery> {
  const attempts: Attempt[] = [];
  const record: { -readonly [Key in keyof Delivery]: Delivery[Key] } = {
    ...delivery,
    attempts,
    state: 'pending',
  };
  const startedAt = clock.now();

  async function attempt(): Promise<void> {
    const at = clock.now();
    const status = await post();
    attempts.push({ at, status });
    const next = schedule[attempts.length];
    if (status !== null && status >= 200 && status < 300) record.state = 'acknowledged';
    else if (next === undefined) record.state = 'failed';
    else clock.setTimeout(attempt, startedAt + next - clock.now());
  }

  remember(record);
  await attempt();
  return record;
}
