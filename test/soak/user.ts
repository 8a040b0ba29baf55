import { setTimeout as sleep } from 'node:timers/promises';
import { codesOf } from '../chaos/ask-until-answered.js';
import { startSubscriber, type Subscriber } from '../chaos/subscriber.js';
import { entities } from '../chaos/events.js';
import type { Random } from '../chaos/random.js';
import { openSession } from '../chaos/visitors.js';
import { postGraphql } from '../drain/requests.js';

/** Somebody who reads, writes now and then, and follows three shipments. */
export interface User {
  readonly subscriber: Subscriber;
  stop(): Promise<void>;
}

export interface UserOptions {
  readonly name: string;
  readonly email: string;
  readonly password: string;
  readonly url: () => string;
  readonly random: Random;
  /** Told how long each answer took, in milliseconds; Infinity if there was none, with the reason. */
  readonly onAnswer: (ms: number, problem?: string) => void;
}

/** What a user does, most of it often. */
const reads = [
  '{ viewer { name } notes(first: 10) { nodes { title tags { name } } pageInfo { hasNextPage } } }',
  '{ shipments(first: 20) { nodes { shipmentId stage events(first: 3) { nodes { type } } } } }',
  '{ payments(first: 20) { nodes { paymentId amount status } } }',
  '{ tags(first: 10) { nodes { name count } } }',
];
const write = 'mutation ($input: CreateNoteInput!) { createNote(input: $input) { errors { code } } }';
const writes = 0.05;
const pauseMs = [2_000, 8_000] as const;
const patienceMs = 30_000;

/** Signs in, and goes on until it is stopped. */
export async function startUser(options: UserOptions): Promise<User> {
  const { name, email, password, url, random, onAnswer } = options;
  const session = await openSession({ url, random, patienceMs, person: { email, password } });
  if (!session) throw new Error('A sign-in was stopped.');
  const { token, after } = session;
  const shipmentIds = [1, 2, 3].map(() => `shipments_${random.whole(1, entities)}`);
  const profile = { name, family: 'shipments', selects: 'few', filter: { shipmentIds } } as const;
  const subscriber = startSubscriber({ profile, token, after, url, random });
  const stopping = new AbortController();

  async function ask(): Promise<void> {
    const [query, variables] = random.chance(writes)
      ? [write, { input: { title: name, content: 'A few words.', tags: ['soak'] } }]
      : [random.pick(reads), {}];
    const began = performance.now();
    const problem = await postGraphql(url(), query, variables, {
      token,
      signal: AbortSignal.timeout(patienceMs),
    }).then(
      (answer) => (answer.errors ? codesOf(answer).join() : undefined),
      (error: unknown) => String(error),
    );
    if (!stopping.signal.aborted) onAnswer(problem ? Infinity : performance.now() - began, problem);
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await sleep(random.between(...pauseMs), undefined, { signal: stopping.signal }).catch(() => undefined);
      if (!stopping.signal.aborted) await ask();
    }
  }

  const running = run();
  return {
    subscriber,
    async stop() {
      stopping.abort();
      await Promise.all([running, subscriber.stop()]);
    },
  };
}
