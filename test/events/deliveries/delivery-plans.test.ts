import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { createDeliveries } from '../../../src/events/deliveries/deliveries.js';
import type { DeliveryFilter } from '../../../src/events/deliveries/delivery-pages.js';
import { RecentDeliveries } from '../../../src/events/deliveries/recent-deliveries.js';
import { LightAbortController } from '../../../src/lib/async/abort.js';
import type { Database } from '../../../src/store/database.js';
import { EventPartitions } from '../../../src/store/postgres/event-partitions.js';
import { Reads } from '../../../src/store/sql/read-budget.js';
import { planOf, recordFilled, silent } from '../../store/open-database.js';
import { engines } from '../../support/engines.js';

/** As many as Postgres must have to prefer an index. A quarter of the older half came to an endpoint since silent. */
const count = 8_000;

async function fill({ engine, kysely }: Database): Promise<void> {
  await sql`insert into events (seq, family, event_id, endpoint_id, type, received_at, body, entity_id)
    with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${sql.lit(count)})
    select n, 'shipments', 'evt_' || n,
      case when n % 4 = 0 and n <= ${sql.lit(count / 2)} then 'silent' else 'busy ' || (n % 3) end,
      'step', n, ${'x'.repeat(500)}, 'entity ' || (n % 100) from numbers`.execute(kysely);
  await sql`update log_head set seq = ${sql.lit(count)}`.execute(kysely);
  if (engine === 'postgres') await sql`vacuum analyze events`.execute(kysely);
}

describe.each(engines)('deliveries on %s', (engine, freshUrl) => {
  const recorded = recordFilled(freshUrl, fill);

  function open() {
    recorded.statements.length = 0;
    const source = { database: recorded.database, reads: new Reads(new LightAbortController()) };
    return createDeliveries(source, new RecentDeliveries());
  }

  async function plansOf(filter: DeliveryFilter): Promise<readonly string[]> {
    await open().page({ limit: 21, backward: false }, { outcomes: ['STORED', 'SKIPPED'], ...filter });
    return Promise.all(recorded.statements.map((statement) => planOf(recorded.database, statement)));
  }

  test('are looked for along the key, whatever other indexes there are', async () => {
    const plans = await plansOf({ family: 'shipments', types: ['none'] });
    expect(plans.filter((plan) => plan.includes('step')).length).toBeGreaterThan(0);
    for (const plan of plans.slice(1)) {
      expect(plan).toMatch(engine === 'sqlite' ? /USING INTEGER PRIMARY KEY/ : /using events_key/);
      expect(plan).not.toMatch(/by_family|sort|temp b-tree/i);
    }
  });

  const inIndex = engine === 'sqlite' ? /SCAN events$|USING COVERING INDEX/ : /Index Only Scan/;

  test.each<DeliveryFilter>([{ family: 'shipments' }, { endpointIds: ['silent'], types: ['none'] }])(
    'end a step where the index says, without the rows: %j',
    async (filter) => {
      const [end] = await plansOf(filter);
      expect(end).toMatch(inIndex);
    },
  );

  async function lastOf(endpointId: string): Promise<string> {
    await open().lastAt({ family: 'shipments', endpointId });
    return planOf(recorded.database, recorded.statements[0]!);
  }

  test('are not passed by to find the last one to an endpoint that is silent since', async () => {
    expect(await open().lastAt({ family: 'shipments', endpointId: 'silent' })).toBe(count / 2);
    const plan = await lastOf('silent');
    expect(plan).toContain('events_by_endpoint_id_seq');
    expect(plan).not.toMatch(/filter|sort|temp b-tree/i);
  });

  if (engine === 'postgres')
    test('are not passed by either where the log is divided', async () => {
      await new EventPartitions(recorded.database, silent, { least: 100, margin: 10, heldMs: 0 }).divide();
      await sql`vacuum analyze event_log`.execute(recorded.database.kysely);
      expect(await open().lastAt({ family: 'shipments', endpointId: 'silent' })).toBe(count / 2);
      const plan = await lastOf('silent');
      expect(plan).toContain('using events_by_endpoint_id_seq on events_0');
      expect(plan).not.toMatch(/using events_key|seq scan on events/i);
    });
});
