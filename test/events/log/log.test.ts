import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Delivery } from '../../../src/events/webhooks/delivery.js';
import type { LogEntry } from '../../../src/events/log/log.js';
import { positionFrom } from '../../../src/events/log/log-position.js';
import { digest } from '../../../src/lib/sealer.js';
import { engines } from '../../support/engines.js';
import { scrape } from '../../support/metrics.js';
import { recordStatements } from '../../store/open-database.js';
import { procedure } from '../test-fold.js';
import { delivery, openTestLog, readEntities, type TestLog } from '../test-log.js';
import { logContract } from './log.contract.js';

describe.each(engines)('the log on %s', (_engine, freshUrl) => logContract(freshUrl));

describe.each(engines.filter(([engine]) => engine === 'postgres'))(
  'replicas of the log on %s',
  (_engine, freshUrl) => {
    async function withReplicas(count: number, run: (replicas: readonly TestLog[]) => Promise<void>) {
      const url = await freshUrl();
      const replicas: TestLog[] = [];
      try {
        while (replicas.length < count) replicas.push(await openTestLog(url));
        await run(replicas);
      } finally {
        await Promise.all(replicas.map((replica) => replica.stop()));
      }
    }

    test('have the same log id', () =>
      withReplicas(2, async ([one, other]) => {
        expect((await one!.log.bounds()).id).toBe((await other!.log.bounds()).id);
      }));

    /** Appends to one log while another holds the head; the holder commits the event `held` as the first one. */
    async function appendBehind(
      [one, other]: readonly TestLog[],
      deliveries: readonly Delivery[],
    ): Promise<readonly string[]> {
      const settled: string[] = [];
      let waiting: Promise<unknown>[] = [];
      await one!.database.kysely.transaction().execute(async (db) => {
        const head = await db
          .updateTable('log_head')
          .set({ seq: 1 })
          .returning('seq')
          .executeTakeFirstOrThrow();
        waiting = deliveries.map((it) => other!.log.append(it).then((outcome) => settled.push(outcome)));
        await sleep(300);
        expect([settled, (await other!.log.bounds()).head, await other!.log.read(0, 10)]).toEqual([
          [],
          0,
          [],
        ]);
        await db.insertInto('event_ids').values(heldId(head.seq)).execute();
        await db.insertInto('events').values(heldRow(head.seq)).execute();
      });
      await Promise.all(waiting);
      return settled;
    }

    test('commit in the order of the numbers: one that holds the head makes the others wait', () =>
      withReplicas(2, async (replicas) => {
        await appendBehind(replicas, [delivery('a'), delivery('b')]);
        const entries = await replicas[1]!.log.read(0, 10);
        expect(entries.map(({ seq, eventId }) => [seq, eventId])).toEqual([
          [1, 'held'],
          [2, 'a'],
          [3, 'b'],
        ]);
      }));

    test('recognise an event that another stores while they are about to', () =>
      withReplicas(2, async (replicas) => {
        const again = delivery('held', {}, { body: 'held' });
        expect(await appendBehind(replicas, [again, delivery('new')])).toEqual(['duplicate', 'stored']);
        expect((await replicas[0]!.log.read(0, 10)).map(({ eventId }) => eventId)).toEqual(['held', 'new']);
        const series = 'trivium_webhooks_total{family="shipments",outcome="duplicate"}';
        expect(await scrape(replicas[1]!.telemetry.metrics, series)).toBe(1);
      }));

    test('take two statements for a commit, and the lock for a while after another came between them', () =>
      withReplicas(2, async ([one, other]) => {
        const { database, statements } = recordStatements(other!.database);
        const commit = procedure.begin(database, null);
        const countFor = async (id: string) => {
          const before = statements.length;
          await commit([delivery(id)]);
          return statements.length - before;
        };
        expect(await countFor('a')).toBe(2);
        await one!.log.append(delivery('b'));
        expect(await countFor('c')).toBe(2);
        // Known already: nothing is written, but the lock's commit waits for what made it durable.
        expect(await countFor('c')).toBe(1 + 2);
        const { counted } = await one!.database.kysely.transaction().execute(async (db) => {
          await db
            .updateTable('log_head')
            .set(({ eb }) => ({ seq: eb('seq', '+', 1) }))
            .execute();
          const begun = { counted: countFor('d') };
          await sleep(300);
          return begun;
        });
        expect(await counted).toBe(2 + 3);
        const counts: number[] = [];
        while (counts.length < 33) counts.push(await countFor(`later ${counts.length}`));
        expect(counts).toEqual([...Array<number>(32).fill(3), 2]);
      }));

    test('store each event once and fold every step, and a reader never sees a gap', () =>
      withReplicas(3, async (replicas) => {
        const steps = Array.from({ length: 400 }, (_, at) => at);
        const seen: LogEntry[] = [];
        let writing = true;
        const reading = (async () => {
          while (writing || seen.length < steps.length)
            seen.push(...(await replicas[0]!.log.read(seen.length, 100)));
        })();
        // Every replica gets every event, as when a sender retries while the first answer is still on its way.
        const outcomes = await Promise.all(
          replicas.flatMap(({ log }) =>
            steps.map(async (step) => {
              await sleep(Math.random() * 300);
              return log.append(delivery(`event ${step}`, { step }));
            }),
          ),
        );
        writing = false;
        await reading;
        expect(outcomes.filter((outcome) => outcome === 'stored')).toHaveLength(steps.length);
        expect(seen.map(({ seq }) => seq)).toEqual(steps.map((step) => step + 1));
        const [entity] = await readEntities(replicas[0]!.database.kysely, ['entity']);
        expect(entity!.steps.toSorted((a, b) => a - b)).toEqual(steps);
        expect(seen.at(-1)!.entity).toEqual(entity);
      }));

    test('receive each other’s signals', () =>
      withReplicas(2, async ([one, other]) => {
        const signal = new Promise<string>((resolve) => other!.database.listen('log', resolve));
        await one!.log.append(delivery('event'));
        expect(positionFrom(await signal)).toEqual(await other!.log.position(1));
      }));
  },
);

function heldId(seq: number) {
  return { family: 'shipments', event_id: 'held', seq, body_digest: digest('held') };
}

function heldRow(seq: number) {
  return {
    seq,
    family: 'shipments',
    event_id: 'held',
    endpoint_id: '',
    type: '',
    api_version: null,
    entity_id: null,
    received_at: 0,
    body: 'held',
    event: null,
    entity: null,
  };
}
