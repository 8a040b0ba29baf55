import { Readable } from 'node:stream';
import { sql } from 'kysely';
import { expect, test, vi } from 'vitest';
import { createShipmentFamily } from '../../../src/domains/shipments/family.js';
import { createDeliveryRecorder } from '../../../src/events/deliveries/delivery-recorder.js';
import type { DeliveryFilter } from '../../../src/events/deliveries/delivery-pages.js';
import { createDeliveries } from '../../../src/events/deliveries/deliveries.js';
import { RecentDeliveries } from '../../../src/events/deliveries/recent-deliveries.js';
import type { WebhookDelivery } from '../../../src/models/webhook.js';
import type { Delivery } from '../../../src/events/webhooks/delivery.js';
import { Refusal } from '../../../src/events/webhooks/request.js';
import { signShipment } from '../../../src/sandbox/signing.js';
import { LightAbortController } from '../../../src/lib/async/abort.js';
import { Reads } from '../../../src/store/sql/read-budget.js';
import { engines } from '../../support/engines.js';
import { createTestFile } from '../../support/sqlite.js';
import { delivery, openTestLog, type TestLog } from '../test-log.js';

test.each(engines)('knows an endpoint by its id on %s, whatever characters that has', async (_, freshUrl) => {
  const testLog = await openTestLog(await freshUrl());
  const { database, log } = testLog;
  const endpointId = 'sub_"\\é"';
  await log.append(delivery('first', {}, { endpointId }));
  await log.append(delivery('first', {}, { endpointId, body: '{}' }));
  await log.append(delivery('second'));
  const reads = new Reads(new LightAbortController());
  const deliveries = createDeliveries({ database, reads }, new RecentDeliveries());
  const page = { limit: 10, backward: false };
  const found = await deliveries.page(page, { endpointIds: [endpointId] });
  expect(found).toMatchObject([
    { endpointId, outcome: 'ALTERED' },
    { endpointId, outcome: 'STORED' },
  ]);
  expect(await deliveries.page(page, {})).toHaveLength(3);
  expect(await deliveries.page(page, { endpointIds: [endpointId, 'endpoint'] })).toHaveLength(3);
  expect(await deliveries.lastAt({ family: 'shipments', endpointId })).toBe(
    Date.parse('2026-01-01T00:00:00.000Z'),
  );
  await testLog.stop();
});

test.each(engines)(
  'has what version 0.1.0 stores meanwhile where its event is, and nothing of events that this hides, on %s',
  async (_, freshUrl) => {
    const url = await freshUrl();
    const before = await openTestLog(url);
    const { kysely } = before.database;
    for (const id of ['hidden', 'first', 'second']) await before.log.append(delivery(id));
    await sql`insert into event_renderings (family, event_id, body_digest, received_at, body)
    values ('shipments', 'first', 'digest', 1, '{}'), ('shipments', 'hidden', 'digest', 1, '{}')`.execute(
      kysely,
    );
    await kysely.updateTable('log_head').set({ pruned: 1 }).execute();
    await kysely.deleteFrom('events').where('seq', '=', 1).execute();
    await before.stop();
    const testLog = await openTestLog(url);
    const source = { database: testLog.database, reads: new Reads(new LightAbortController()) };
    const deliveries = createDeliveries(source, new RecentDeliveries());
    expect(await deliveries.page({ limit: 10, backward: false }, {})).toMatchObject([
      { eventId: 'second', outcome: 'STORED' },
      { eventId: 'first', outcome: 'ALTERED', endpointId: 'endpoint', type: 'step' },
      { eventId: 'first', outcome: 'STORED' },
    ]);
    const bodies = testLog.database.kysely.selectFrom('event_renderings').select('event_id');
    expect(await bodies.execute()).toEqual([{ event_id: 'first' }]);
    await testLog.stop();
  },
);

/** Inserts numbers 1 to `count`, each made into a row. */
const rowsUpTo = (count: number, row: string) =>
  sql.raw(`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${count})
    select ${row} from numbers`);

test('finds the last delivery to an endpoint whose id the other family has too, in steps if it is long ago', async () => {
  const testLog = await openTestLog(await createTestFile());
  const { database, log } = testLog;
  await log.append(delivery('first'));
  await sql`insert into events (seq, family, event_id, endpoint_id, type, received_at, body)
    ${rowsUpTo(4_500, `n + 1, 'payments', 'evt_' || n, 'endpoint', 'step', n, '{}'`)}`.execute(
    database.kysely,
  );
  const reads = new Reads(new LightAbortController());
  const next = vi.spyOn(reads, 'next');
  const deliveries = createDeliveries({ database, reads }, new RecentDeliveries());
  expect(await deliveries.lastAt({ family: 'payments', endpointId: 'endpoint' })).toBe(4_500);
  expect(next).toHaveBeenCalledTimes(1);
  expect(await deliveries.lastAt({ family: 'shipments', endpointId: 'endpoint' })).toBe(
    Date.parse('2026-01-01T00:00:00.000Z'),
  );
  expect(next.mock.calls.length).toBeGreaterThan(6);
  expect(await deliveries.lastAt({ family: 'shipments', endpointId: 'other' })).toBe(null);
  await testLog.stop();
});

test('looks in steps for the altered bodies of an endpoint that may have none', async () => {
  const testLog = await openTestLog(await createTestFile());
  const { database } = testLog;
  await sql`insert into event_renderings
    (family, event_id, body_digest, received_at, body, after_seq, endpoint_id, type)
    ${rowsUpTo(4_500, `'payments', 'evt_' || n, 'digest', n, '{}', n, 'another', 'step'`)}`.execute(
    database.kysely,
  );
  const reads = new Reads(new LightAbortController());
  const next = vi.spyOn(reads, 'next');
  const deliveries = createDeliveries({ database, reads }, new RecentDeliveries());
  const filter = { endpointIds: ['endpoint'], outcomes: ['ALTERED'] } as const;
  expect(await deliveries.page({ limit: 10, backward: false }, filter)).toEqual([]);
  expect(next.mock.calls.length).toBeGreaterThan(5);
  await testLog.stop();
});

/** Takes deliveries as the receiver does; `live` has those that the log does not tell of, `page` all. */
function createReception({ database, log, clock }: TestLog) {
  const live: WebhookDelivery[] = [];
  const recent = new RecentDeliveries();
  const recorder = createDeliveryRecorder({
    families: [createShipmentFamily({ skewSeconds: 300 })],
    secrets: { history: () => undefined },
    recent,
    clock,
    lastSeq: log.appended,
    publish: (sent) => live.push(sent),
  });
  const open = () => createDeliveries({ database, reads: new Reads(new LightAbortController()) }, recent);
  return {
    live,
    open,
    refuse: (endpointId: string) =>
      recorder.refused(
        { family: 'shipments', endpointId, method: 'POST', rawHeaders: [], body: Readable.from([]) },
        new Refusal(404, 'ENDPOINT_UNKNOWN', 'There is no such endpoint.'),
      ),
    async receive(eventId: string, changes: Partial<Delivery>) {
      const received = delivery(eventId, {}, { receivedAt: clock.iso(), ...changes });
      recorder.accepted(received, await log.append(received));
    },
    page: (filter: DeliveryFilter) => open().page({ limit: 100, backward: false }, filter),
  };
}

test('has the newest of the refused first, even if the clock was set back meanwhile', async () => {
  const testLog = await openTestLog(await createTestFile());
  const { refuse, page } = createReception(testLog);
  refuse('first');
  testLog.clock.moveDays(-1);
  refuse('second');
  expect((await page({})).map(({ endpointId }) => endpointId)).toEqual(['second', 'first']);
  await testLog.stop();
});

test.each(engines)(
  'lists each altered body once, also those that the log does not keep, on %s',
  async (_, freshUrl) => {
    const testLog = await openTestLog(await freshUrl());
    const { receive, live, page, open } = createReception(testLog);
    const bodies = async () => {
      const altered = await page({ outcomes: ['ALTERED'] });
      const found = await Promise.all(altered.map((one) => open().body(one)));
      return found.map(({ text }) => String(text));
    };
    await receive('event', { body: '{}' });
    for (let n = 1; n <= 20; n += 1) await receive('event', { body: `{"n":${n}}` });
    await receive('event', { body: '{"n":1}' });
    const sent = live.map(({ kept }) => String(kept?.text));
    expect((await bodies()).toSorted()).toEqual(sent.toSorted());
    expect(sent).toHaveLength(21);
    testLog.clock.moveDays(91);
    await testLog.log.prune();
    await receive('event', { body: '{"late":true}' });
    expect(await bodies()).toEqual([
      '{"late":true}',
      '{"n":1}',
      '{"n":20}',
      '{"n":19}',
      '{"n":18}',
      '{"n":17}',
    ]);
    await testLog.stop();
  },
);

test.each(engines)(
  'names what the event was stored for, whatever is delivered again, on %s',
  async (_, freshUrl) => {
    const testLog = await openTestLog(await freshUrl());
    const { receive, live, page, open } = createReception(testLog);
    const named = (deliveries: readonly WebhookDelivery[]) =>
      Promise.all(deliveries.map(async (one) => [one.outcome, one.eventId, await open().entityId(one)]));
    const other = { entityId: 'other', event: { entityId: 'other', step: 0 } };
    await receive('event', {});
    await receive('event', { known: null });
    await receive('event', { known: other, body: '{}' });
    await receive('event', { known: other, body: '{}' });
    await receive('skipped', { known: null });
    await receive('skipped', { known: other });
    const again = [
      ['DUPLICATE', 'event', 'entity'],
      ['ALTERED', 'event', 'entity'],
      ['ALTERED', 'event', 'entity'],
      ['DUPLICATE', 'skipped', null],
    ];
    expect(await named(live)).toEqual(again);
    const listed = await page({ outcomes: ['DUPLICATE', 'ALTERED'] });
    expect((await named(listed)).toReversed()).toEqual(again);
    expect(await named(await page({ outcomes: ['STORED', 'SKIPPED'] }))).toEqual([
      ['SKIPPED', 'skipped', null],
      ['STORED', 'event', 'entity'],
    ]);
    await testLog.stop();
  },
);

test('names the event of a refused delivery that was signed, unless its body is long', () => {
  const recent = new RecentDeliveries();
  const recorder = createDeliveryRecorder({
    families: [createShipmentFamily({ skewSeconds: 300 })],
    secrets: { history: () => ({ valid: ['secret'], expired: [], since: 0, previousUntil: null }) },
    recent,
    clock: { now: () => 1_000_000 },
    lastSeq: () => 0,
    publish: () => undefined,
  });
  for (const length of [10, 100_000]) {
    const body = JSON.stringify({ id: 'event', type: 'shipment.created', data: 'x'.repeat(length) });
    const rawHeaders = ['Shipping-Signature', signShipment('secret', 1, body)];
    recorder.refused(
      { family: 'shipments', endpointId: 'endpoint', method: 'POST', rawHeaders, body: Readable.from([]) },
      new Refusal(401, 'SIGNATURE_TOO_OLD', 'It is too old.'),
      Buffer.from(body),
    );
  }
  const named = { eventId: 'event', type: 'shipment.created' };
  expect(recent.all()).toMatchObject([named, { eventId: null, type: null, kept: { truncated: true } }]);
});
