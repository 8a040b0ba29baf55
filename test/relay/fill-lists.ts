import { expect } from 'vitest';
import type { Testbed } from '../support/testbed.js';

/** Makes `rows` bookings, shipments and payments, and as many further events of the first shipment and payment. */
export async function fillLists({ sandbox, ask }: Testbed, token: string, rows: number): Promise<void> {
  const now = sandbox.clock.now();
  const second = (index: number) => now - 1000 * (rows - index);
  for (let index = 0; index < rows; index++) {
    // Several have the same time, as their order has to be stable too.
    const at = second(index - (index % 3));
    const created_at = new Date(at).toISOString();
    await sandbox.webhooks.emitShipment({ shipment: { id: `shp_${index}` }, created_at });
    await sandbox.webhooks.emitShipment({
      shipment: { id: 'shp_0' },
      type: 'shipment.in_transit',
      created_at,
    });
    await sandbox.webhooks.emitPayment({ object: { id: `pay_${index}` }, created: Math.floor(at / 1000) });
    await sandbox.webhooks.emitPayment({ object: { id: 'pay_0' }, created: Math.floor(at / 1000) });
    await book(ask, token, index);
  }
}

async function book(ask: Testbed['ask'], token: string, index: number): Promise<void> {
  const at = new Date(Date.UTC(2027, 0, 1, 0, index)).toISOString();
  const participants = [{ actor: { reference: `Patient/${index}` }, status: 'ACCEPTED' }];
  const { data } = await ask(
    'mutation ($input: CreateAppointmentInput!) { createAppointment(input: $input) { errors { code } } }',
    { input: { status: 'BOOKED', start: at, end: at, participants } },
    token,
  );
  expect(data.createAppointment.errors).toEqual([]);
}
