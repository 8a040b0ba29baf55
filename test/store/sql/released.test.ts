import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHmac } from 'node:crypto';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect, inject, onTestFinished, test } from 'vitest';
import { demo, startTestbed } from '../../support/testbed.js';

/** When the secret that version 0.1.0 has replaced expires, in the stored database. */
const storedExpiry = '1795784906181';

/** A folder with the database as version 0.1.0 left it; the replaced secret is valid for another hour. */
function restoreReleased() {
  const folder = mkdtempSync(join(inject('testDirectory'), 'released-'));
  const path = join(folder, 'gateway.db');
  const database = new DatabaseSync(path);
  const dump = readFileSync(new URL('released/0.1.0.sql', import.meta.url), 'utf8');
  database.exec(dump.replace(storedExpiry, String(Date.now() + 3_600_000)));
  const columns = columnsOf(database);
  database.close();
  return { folder, path, columns };
}

/** The columns of each table, with whether a row needs a value for them. */
function columnsOf(database: InstanceType<typeof DatabaseSync>): ReadonlyMap<string, boolean> {
  const columns = database.prepare(`
    select tables.name || '.' || columns.name as name, "notnull" and dflt_value is null as required
    from sqlite_schema as tables join pragma_table_info(tables.name) as columns
    where tables.type = 'table' and tables.name not like 'trivium_%'`);
  return new Map(columns.all().map((row) => [String(row['name']), row['required'] === 1]));
}

/** A gateway on the database of version 0.1.0, with the settings that this had. */
async function upgrade({ folder }: { readonly folder: string }) {
  const testbed = await startTestbed({
    folder,
    settings: {
      SECRET_KEYS: Buffer.alloc(32, 7).toString('base64'),
      SHIPMENT_WEBHOOKS: 'sub_1=a-secret',
      PAYMENT_WEBHOOKS: 'pe_1=the-second',
      EVENT_RETENTION_DAYS: '36500',
    },
  });
  onTestFinished(() => testbed.stop());
  return { ...testbed, token: await testbed.signIn(demo) };
}

test('what version 0.1.0 stored is there after an upgrade', async () => {
  const { ask, token } = await upgrade(restoreReleased());
  const { data, errors } = await ask(
    `{
      shipments { nodes { shipmentId stage carrier revision events { nodes { eventId } } } }
      payments { nodes { paymentId amount revision events { nodes { eventId } } } }
      webhookDeliveries { nodes { eventId outcome endpoint { endpointId } } }
    }`,
    {},
    token,
  );
  expect(errors).toBeUndefined();
  const ids = (...all: readonly string[]) => ({ nodes: all.map((eventId) => ({ eventId })) });
  expect(data.shipments.nodes).toEqual([
    { shipmentId: 'shp_1', stage: 'IN_TRANSIT', carrier: 'ups', revision: 1, events: ids('evt_2', 'evt_1') },
  ]);
  expect(data.payments.nodes).toEqual([
    { paymentId: 'pay_1', amount: 100, revision: 4, events: ids('evt_4', 'evt_3') },
  ]);
  const delivery = (eventId: string, outcome: string, endpointId: string) => ({
    eventId,
    outcome,
    endpoint: { endpointId },
  });
  expect(data.webhookDeliveries.nodes).toEqual([
    delivery('evt_4', 'STORED', 'pe_1'),
    delivery('evt_3', 'STORED', 'pe_1'),
    delivery('evt_2', 'ALTERED', 'sub_1'),
    delivery('evt_2', 'STORED', 'sub_1'),
    delivery('evt_1', 'STORED', 'sub_1'),
  ]);
});

test('a secret that version 0.1.0 replaced stays valid after an upgrade', async () => {
  const { url } = await upgrade(restoreReleased());
  const body = '{"id":"evt_5","type":"payment.succeeded","data":{"object":{"id":"pay_1"}}}';
  const t = Math.floor(Date.now() / 1_000);
  const v1 = createHmac('sha256', 'the-first').update(`${t}.${body}`).digest('hex');
  const headers = { 'payments-signature': `t=${t},v1=${v1}` };
  expect((await fetch(`${url}/webhooks/payments/pe_1`, { method: 'POST', headers, body })).status).toBe(200);
});

test('version 0.1.0 starts again after an upgrade: it finds its migrations, its columns, and no new duty', async () => {
  const released = restoreReleased();
  await upgrade(released);
  const database = new DatabaseSync(released.path, { readOnly: true });
  onTestFinished(() => database.close());
  expect(database.prepare('select name from trivium_migrations order by name').all()).toEqual([
    { name: '0001_tables' },
    { name: '0002_filters' },
    { name: '0003_booking_starts' },
  ]);
  const columns = columnsOf(database);
  expect([...columns.keys()]).toEqual(expect.arrayContaining([...released.columns.keys()]));
  const added = [...columns].filter(([name]) => !released.columns.has(name));
  expect(added.map(([name]) => name)).toContain('events.signed_at');
  expect(added.filter(([, required]) => required)).toEqual([]);
});
