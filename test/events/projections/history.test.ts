import type { KyselyPlugin } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PaymentEvent } from '../../../src/models/payment.js';
import { createPayments, type Payments } from '../../../src/domains/payments/family.js';
import type { RowQuery } from '../../../src/graphql/connection.js';
import { LightAbortController } from '../../../src/lib/async/abort.js';
import { Reads } from '../../../src/store/sql/read-budget.js';
import { paymentEvent } from '../../domains/payments/events.js';
import { engines } from '../../support/engines.js';
import { deliveryOf } from '../../support/events.js';
import { openLogAndFeed } from '../../support/live.js';

const codeOf = (error: unknown) => (error as { readonly code?: unknown }).code;

const long = 'é'.repeat(512 * 1024); // 1 MiB
const all: RowQuery<never> = { limit: 101, backward: false };

/** Events of two payments: every other one of each has 1 MiB of data, and the last two of each 1 MiB of currency. */
const history = Array.from({ length: 24 }, (_, at): PaymentEvent => {
  const fields = {
    paymentId: `pay_${at % 2}`,
    created: 1_700_000_000 + at,
    data: at % 4 < 2 ? { long } : null,
  };
  return paymentEvent({ ...fields, eventId: `e${at}`, currency: at < 20 ? 'eur' : long });
});

describe.each(engines)('long texts on %s', (_, createDatabase) => {
  let live: Awaited<ReturnType<typeof openLogAndFeed>>;
  let statements: number;
  let open: (reads: Reads) => Payments;

  beforeAll(async () => {
    live = await openLogAndFeed(await createDatabase());
    for (const event of history) await live.log.append(deliveryOf(event, event.paymentId));
    const counting: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        statements += 1;
        return result;
      },
    };
    open = createPayments({
      database: { ...live.database, kysely: live.database.kysely.withPlugin(counting) },
    });
  });
  afterAll(() => live.stop());

  /** What `run` reads, and in how many statements. */
  async function read<T>(from: Payments, run: (from: Payments) => Promise<T>) {
    statements = 0;
    const got = await run(from).catch(codeOf);
    return [got, statements] as const;
  }

  /** Events with their data, which is read later where it is long. */
  const whole = (events: unknown) => JSON.parse(JSON.stringify(events)) as readonly (PaymentEvent | null)[];

  const openDefault = () => open(new Reads(new LightAbortController()));
  const eventsOf = (paymentId: string) =>
    history
      .map((event, at) => ({ ...event, seq: at + 1 }))
      .filter((event) => event.paymentId === paymentId)
      .toReversed();

  test('are read after the rest, a few MiB at a time', async () => {
    const [events, count] = await read(openDefault(), (payments) => payments.events.of('pay_0', all));
    expect(whole(events)).toEqual(eventsOf('pay_0'));
    // Ten MiB: six events of one, one of two, and the entities stored with the last two, of one each.
    expect(count).toBeGreaterThan(4);
    expect(count).toBeLessThan(8);
    const [few, of] = await read(openDefault(), (payments) =>
      payments.events.of('pay_0', { ...all, limit: 2 }),
    );
    expect(whole(few)).toEqual(eventsOf('pay_0').slice(0, 2));
    expect(of).toBe(4);
  });

  test('are read for several pages together, and only once for the same page', async () => {
    const [pages] = await read(openDefault(), ({ events }) =>
      Promise.all([
        events.of('pay_0', all),
        events.of('pay_1', all),
        events.of('pay_0', { ...all, backward: true }),
      ]),
    );
    const [one, other] = [eventsOf('pay_0'), eventsOf('pay_1')];
    expect((pages as readonly unknown[]).map(whole)).toEqual([one, other, one.toReversed()]);
    const from = openDefault();
    const [, count] = await read(from, ({ events }) => events.of('pay_0', all));
    expect(count).toBeGreaterThan(1);
    const [again, none] = await read(from, ({ events }) => events.of('pay_0', all));
    expect(whole(again)).toEqual(one);
    expect(none).toBe(0);
  });

  test('are read for events looked up by id', async () => {
    const ids = history.map(({ eventId }) => eventId);
    const [events] = await read(openDefault(), (payments) =>
      Promise.all(['none', ...ids].map((id) => payments.events.event(id))),
    );
    expect(whole(events)).toEqual([null, ...history.map((event, at) => ({ ...event, seq: at + 1 }))]);
  });

  test('may belong to the entity itself', async () => {
    const [[page, found]] = (await read(openDefault(), async (payments) => {
      const rows = await payments.page(all, {});
      return [rows, await Promise.all(['pay_1', 'none', 'pay_0'].map((id) => payments.get(id)))];
    })) as [unknown[], number];
    const [one, other] = ['pay_1', 'pay_0'].map((paymentId) => ({ paymentId, currency: long }));
    expect(page).toMatchObject([one, other]);
    expect(found).toMatchObject([one, null, other]);
  });

  test('are not read at all if the operation exceeds its limit, nor is anything after them', async () => {
    const few = open(new Reads(new LightAbortController(), 2));
    const tooComplex = 'QUERY_TOO_COMPLEX';
    expect(await read(few, ({ events }) => events.event('e0'))).toMatchObject([{ eventId: 'e0' }, 1]);
    expect(await read(few, ({ events }) => events.of('pay_0', all))).toEqual([tooComplex, 2]);
    expect(await read(few, (payments) => payments.get('none'))).toEqual([tooComplex, 0]);
    const states = open(new Reads(new LightAbortController(), 1));
    expect(await read(states, (payments) => payments.page(all, {}))).toEqual([tooComplex, 2]);
  });
});
