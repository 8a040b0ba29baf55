import { setTimeout as sleep } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFeed, type Feed, type Update } from '../../src/events/feed.js';
import type { Log, LogEntry } from '../../src/events/log.js';
import { createCursors } from '../../src/relay.js';
import { createSealer } from '../../src/seal.js';
import { engines } from '../support/engines.js';
import { delivery, openJournal } from './journal.js';

const cursors = createCursors(createSealer([randomBytes(32)]));
const families = ['shipments', 'payments'] as const;
const clientCount = 4;

type Command =
  | { readonly kind: 'append'; readonly ids: readonly number[] }
  | { readonly kind: 'connect'; readonly client: number; readonly exact: boolean }
  | { readonly kind: 'take'; readonly client: number; readonly count: number }
  | { readonly kind: 'disconnect'; readonly client: number }
  | { readonly kind: 'pause'; readonly ms: number };

const someClient = fc.nat(clientCount - 1);
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({
    kind: fc.constant('append' as const),
    ids: fc.array(fc.nat(300), { maxLength: 20, size: 'max' }),
  }),
  fc.record({ kind: fc.constant('connect' as const), client: someClient, exact: fc.boolean() }),
  fc.record({ kind: fc.constant('take' as const), client: someClient, count: fc.nat(40) }),
  fc.record({ kind: fc.constant('disconnect' as const), client: someClient }),
  fc.record({ kind: fc.constant('pause' as const), ms: fc.nat(5) }),
);

/** A client of one family, which resumes after the last update that it got. */
function createClient(log: Log, feed: Feed, family: (typeof families)[number]) {
  const got: number[] = [];
  let updates: AsyncIterableIterator<Update, undefined> | undefined;
  let reading = Promise.resolve();
  /** Where the log ended for the feed when it began. */
  let began: number | undefined;

  /** The place to go on from. */
  const resumable = () => got.at(-1) ?? began;

  async function cursorAt(seq: number): Promise<string> {
    return feed.cursor((await log.place(seq)) ?? { seq, witness: '' });
  }

  async function connect(exact: boolean): Promise<void> {
    if (updates) return;
    const last = resumable();
    const after = last ?? (exact ? await feed.head() : undefined);
    const place = after === undefined ? {} : { after: await feed.position(await cursorAt(after)) };
    const reached = feed.reached();
    updates = feed.updates({ family, ...place });
    if (last === undefined) began = after ?? reached;
  }

  async function readWhile(more: (update: Update) => boolean): Promise<void> {
    for (let step = await updates?.next(); step && !step.done; step = await updates?.next()) {
      got.push(step.value.entry.seq);
      if (!more(step.value)) return;
    }
  }

  function take(count: number): void {
    let left = count;
    reading = reading.then(() => (left > 0 ? readWhile(() => (left -= 1) > 0) : undefined));
  }

  async function disconnect(): Promise<void> {
    await updates?.return?.();
    updates = undefined;
    await reading;
  }

  /** Connects again where it was cut, and reads on to the end of the log, where each family has its last event. */
  async function finish(last: number): Promise<void> {
    await disconnect();
    if (began === undefined) return;
    await connect(true);
    if ((got.at(-1) ?? 0) < last - 1) await readWhile(({ entry }) => entry.seq < last - 1);
    await disconnect();
  }

  return { family, got, connect, take, disconnect, finish, began: () => began };
}

type Client = ReturnType<typeof createClient>;

/** Runs the commands, then lets every client catch up; `name` tells the events of this run from others. */
async function run(log: Log, feed: Feed, commands: readonly Command[], name: string) {
  const clients = Array.from({ length: clientCount }, (_, at) => createClient(log, feed, families[at % 2]!));
  const append = (id: number) => {
    const changes = { family: families[id % 2]!, ...(id % 7 === 0 ? { known: null } : {}) };
    return log.append(delivery(`${name} ${id}`, { entityId: `entity ${id % 5}` }, changes));
  };
  const appends: Promise<unknown>[] = [];
  for (const step of commands) {
    if (step.kind === 'append') appends.push(...step.ids.map(append));
    else if (step.kind === 'connect') await clients[step.client]!.connect(step.exact);
    else if (step.kind === 'take') clients[step.client]!.take(step.count);
    else if (step.kind === 'disconnect') await clients[step.client]!.disconnect();
    else await sleep(step.ms);
  }
  await Promise.all(appends);
  await Promise.all(families.map((family) => log.append(delivery(`${name} last`, {}, { family }))));
  const { seq } = (await log.read((await log.head()) - 1, 1))[0]!;
  await Promise.all(clients.map(({ finish }) => finish(seq)));
  return clients;
}

function check({ family, got, began }: Client, entries: readonly LogEntry[]): void {
  const since = began() ?? Infinity;
  const expected = entries.filter(
    (entry) => entry.family === family && entry.event !== null && entry.seq > since,
  );
  expect(got).toEqual(expected.map(({ seq }) => seq));
}

describe.each(engines)('the feed on %s', (_, freshUrl) => {
  test(
    'gives every client each event since it began once, in log order, whatever is cut when',
    {
      timeout: 300_000,
    },
    async () => {
      const journal = await openJournal(await freshUrl());
      let runs = 0;
      const property = fc.asyncProperty(
        fc.array(command, { maxLength: 60, size: 'max' }),
        fc.integer({ min: 1, max: 30 }),
        async (commands, recent) => {
          runs += 1;
          const start = await journal.log.head();
          const feed = await createFeed({ ...journal, cursors, recent });
          try {
            const clients = await run(journal.log, feed, commands, `run ${runs}`);
            const entries = await journal.log.read(start, 10_000);
            for (const client of clients) check(client, entries);
          } finally {
            feed.stop();
          }
        },
      );
      try {
        await fc.assert(property, { numRuns: 100 });
        expect(runs).toBeGreaterThanOrEqual(100);
      } finally {
        await journal.stop();
      }
    },
  );
});
