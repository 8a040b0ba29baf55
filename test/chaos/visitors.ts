import { setTimeout as sleep } from 'node:timers/promises';
import { postGraphql, type Posted } from '../drain/requests.js';
import { demo } from '../support/testbed.js';
import { findingsOf, type Finding } from './faults.js';
import { askUntilAnswered, codesOf, type AskingOptions } from './ask-until-answered.js';
import { startSubscriber, type Subscriber } from './subscriber.js';

/** Clients that sign in, subscribe for a while, and sign out. */
export interface Visitors {
  readonly subscribers: readonly Subscriber[];
  /** How many clients have signed out. */
  readonly signOuts: number;
  /** Starts no new visit; resolves when the current one has ended. */
  finish(): Promise<void>;
  /** The sessions that outlived their sign-out, on any of these gateways. */
  findings(urls: readonly string[]): Promise<readonly Finding[]>;
}

export type VisitorsOptions = Omit<AskingOptions, 'patienceMs' | 'stopped'>;

const patienceMs = 8_000;
const stayMs = [200, 4_000] as const;
/** How long a signed-out client may still be served: the contract says "within seconds". */
const graceMs = 10_000;
/** How long it may take until a client is refused, which needs a gateway that is up and reaches its database. */
const maxMs = 60_000;
const checkMs = 50;
/** After how many refusals in a row a session counts as ended. */
const enoughRefusals = 3;

const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken } }';
const signOut = 'mutation { signOut { signedOut } }';

/** Opens a session, and reads the place in the log at which it begins; undefined if it is stopped before. */
export async function openSession(
  options: AskingOptions & { readonly person?: typeof demo },
): Promise<{ token: string; after: string } | undefined> {
  const token = await askUntilAnswered(options, {
    query: signIn,
    variables: { input: options.person ?? demo },
    read: ({ data }) => (data?.signIn?.sessionToken as string | null) ?? undefined,
  });
  if (token === undefined) return undefined;
  const after = await askUntilAnswered(options, {
    query: '{ liveCursor }',
    token,
    read: ({ data }) => data?.liveCursor as string | undefined,
  });
  return after === undefined ? undefined : { token, after };
}

/** Starts one visit after another. */
export function startVisitors({ url, random }: VisitorsOptions): Visitors {
  const subscribers: Subscriber[] = [];
  const signedOut: string[] = [];
  const late: string[] = [];
  const stopping = new AbortController();
  const options = { url, random, patienceMs };

  /** Signs out; the answer that confirms it may get lost, so a missing session counts too. */
  async function leave(token: string): Promise<void> {
    const read = (answer: Posted) => answer.data?.signOut?.signedOut === true || isOver(answer) || undefined;
    await askUntilAnswered(options, { query: signOut, token, read });
    signedOut.push(token);
  }

  async function visit(): Promise<void> {
    const session = (await openSession(options))!;
    const name = `visitor ${subscribers.length + 1}`;
    const profile = { name, family: 'shipments', selects: 'few', isLeaving: true } as const;
    const subscriber = startSubscriber({ profile, ...session, url, random });
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
      return signedOut.length;
    },
    async finish() {
      stopping.abort();
      await running;
    },
    async findings(urls) {
      const alive = await Promise.all(
        urls.flatMap((at) =>
          signedOut.map(async (token, number) => {
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
