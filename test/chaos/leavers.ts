import { setTimeout as sleep } from 'node:timers/promises';
import { postGraphql, type Posted } from '../drain/asking.js';
import { demo } from '../support/testbed.js';
import { findingsOf, type Finding } from './faults.js';
import { codesOf, insist, type Asking } from './insistence.js';
import { startSubscriber, type Subscriber } from './subscriber.js';

/** People who sign in, follow for a while, and sign out. */
export interface Leavers {
  readonly subscribers: readonly Subscriber[];
  /** How many have signed out. */
  readonly signOuts: number;
  /** Begins no more; resolves when those who are there have left. */
  finish(): Promise<void>;
  /** Who has outlived its sign-out, as any of these gateways shows. */
  findings(urls: readonly string[]): Promise<readonly Finding[]>;
}

export type LeaversOptions = Omit<Asking, 'patienceMs' | 'stopped'>;

const patienceMs = 8_000;
const stayMs = [200, 4_000] as const;
/** The contract's "within seconds": who has signed out is served no longer. */
const graceMs = 10_000;
/** To be turned away takes a gateway that is up and reaches its database. */
const maxMs = 60_000;
const checkMs = 50;
/** How often in a row a session is to be turned away before it counts as ended. */
const enoughRefusals = 3;

const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken } }';
const signOut = 'mutation { signOut { signedOut } }';

/** A new session, and the place in the log at which it begins; undefined where it is stopped before. */
export async function enter(asking: Asking): Promise<{ token: string; after: string } | undefined> {
  const token = await insist(asking, {
    query: signIn,
    variables: { input: demo },
    read: ({ data }) => (data?.signIn?.sessionToken as string | null) ?? undefined,
  });
  if (token === undefined) return undefined;
  const after = await insist(asking, {
    query: '{ liveCursor }',
    token,
    read: ({ data }) => data?.liveCursor as string | undefined,
  });
  return after === undefined ? undefined : { token, after };
}

/** Starts to come and go. */
export function startLeavers({ url, random }: LeaversOptions): Leavers {
  const subscribers: Subscriber[] = [];
  const gone: string[] = [];
  const late: string[] = [];
  const stopping = new AbortController();
  const asking = { url, random, patienceMs };

  /** The answer to the one that did it may have been lost. */
  async function leave(token: string): Promise<void> {
    const read = (answer: Posted) => answer.data?.signOut?.signedOut === true || isOver(answer) || undefined;
    await insist(asking, { query: signOut, token, read });
    gone.push(token);
  }

  async function visit(): Promise<void> {
    const session = (await enter(asking))!;
    const name = `visitor ${subscribers.length + 1}`;
    const habit = { name, family: 'shipments', selects: 'few', isLeaving: true } as const;
    const subscriber = startSubscriber({ habit, ...session, url, random });
    subscribers.push(subscriber);
    await sleep(random.between(...stayMs), undefined, { signal: stopping.signal }).catch(() => undefined);
    await leave(session.token);
    const left = performance.now();
    while (performance.now() < left + maxMs && subscriber.refusals < enoughRefusals) await sleep(checkMs);
    const servedMs = Math.round(subscriber.servedAt - left);
    if (servedMs > graceMs) late.push(`${name} was served for ${servedMs} ms after it had signed out`);
    if (subscriber.refusals < enoughRefusals) late.push(`${name} was not closed out within ${maxMs} ms`);
    await subscriber.stop();
  }

  async function run(): Promise<void> {
    do await visit();
    while (!stopping.signal.aborted);
  }

  const running = run();
  return {
    subscribers,
    get signOuts() {
      return gone.length;
    },
    async finish() {
      stopping.abort();
      await running;
    },
    async findings(urls) {
      const alive = await Promise.all(
        urls.flatMap((at) =>
          gone.map(async (token, number) => {
            const answer = await postGraphql(at, '{ liveCursor }', {}, { token });
            return isOver(answer) ? [] : [`visitor ${number + 1} is still signed in at ${at}`];
          }),
        ),
      );
      return findingsOf('outlived its sign-out', [...late, ...alive.flat()]);
    },
  };
}

function isOver(answer: Posted): boolean {
  return codesOf(answer).includes('UNAUTHENTICATED');
}
