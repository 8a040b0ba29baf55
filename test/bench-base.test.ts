import { DatabaseSync } from '@photostructure/sqlite';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { allTold, openAudience, ownShipments } from './bench/audience.js';
import { begin, byHand, byStream } from './bench/contestants.js';
import { withEnvironment } from './bench/environment.js';
import { openSenders } from './bench/senders.js';
import { shipmentDelivery } from './bench/webhooks.js';

test('the hand-written base stores each event once, and the newest state, before it answers', async () => {
  await withEnvironment(async ({ folder, startFile }) => {
    const { url } = await startFile('servers/handwritten-durable.js', { database: 'base.db' });
    const senders = await openSenders(url, 1);
    const late = { eventId: 'evt_2', shipmentId: 'shp_1', stage: 3, at: 2_000 };
    const early = { eventId: 'evt_1', shipmentId: 'shp_1', stage: 1, at: 1_000 };
    for (const event of [late, early, late]) await senders.send(shipmentDelivery(url, event));
    const forged = Buffer.from(String(shipmentDelivery(url, late)).replace('"evt_2"', '"evt_3"'));
    await expect(senders.send(forged)).rejects.toThrow('answered 401');
    senders.stop();
    const database = new DatabaseSync(join(folder, 'base.db'), { readOnly: true });
    const rows = database.prepare('select id from events order by seq').all();
    const states = database.prepare('select state from entities').all() as { state: string }[];
    database.close();
    expect(rows).toEqual([{ id: 'shipments evt_2' }, { id: 'shipments evt_1' }]);
    expect(states.map(({ state }) => JSON.parse(state) as unknown)).toMatchObject([{ stage: 'DELIVERED' }]);
  });
});

test.for([byHand, byStream(byHand)])('$who sends each event to those who follow it', async (base) => {
  await withEnvironment(async (environment) => {
    const target = await begin(base, environment);
    const audience = await openAudience(target, 20, 20, ownShipments);
    audience.reset(true);
    await audience.tellAll();
    await allTold(audience);
    expect(audience.took).toHaveLength(20);
    await audience.stop();
  });
});
