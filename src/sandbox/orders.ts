import { z } from 'zod';
import type { Clock } from './clock.js';
import type { Delivery } from './delivery.js';
import { newId } from './events.js';
import { type Answer, json, httpError, type Request } from './http.js';
import type { WebhooksControl } from './webhooks.js';

const lateMs = 3 * 24 * 60 * 60 * 1000;

/** An event that is asked for, and how it is to be sent. */
const orderShape = z.strictObject({
  family: z.enum(['shipments', 'payments']),
  to: z.string().exactOptional(),
  type: z.string().exactOptional(),
  /** The members of `data.shipment` or `data.object`. */
  data: z.record(z.string(), z.unknown()).exactOptional(),
  how: z.enum(['usual', 'twice', 'late', 'wrong-signature', 'old-signature']).default('usual'),
});

type Order = z.infer<typeof orderShape>;

/** `POST /control/events`: sends a chosen event, and answers with what the receiver answered. */
export function sendOrdered(webhooks: WebhooksControl, clock: Clock): (request: Request) => Promise<Answer> {
  return async (request) => {
    const { data: order, error } = orderShape.safeParse(request.json());
    if (error) throw httpError(400, 'invalid', z.prettifyError(error));
    const id = newId('evt');
    const at = clock.now() - (order.how === 'late' ? lateMs : 0);
    const first = await emit(webhooks, order, id, at).catch(refuse);
    const sent = order.how === 'twice' ? [first, await webhooks.replay(id, first.endpointId)] : [first];
    const statuses = sent.map(({ attempts }) => attempts[0]?.status ?? null);
    return json(200, { eventId: id, statuses });
  };
}

function emit(
  webhooks: WebhooksControl,
  { family, to, type, data = {}, how }: Order,
  id: string,
  at: number,
): Promise<Delivery> {
  const signature = { 'wrong-signature': 'wrong', 'old-signature': 'old' } as const;
  const choice = {
    id,
    ...(to !== undefined && { to }),
    ...(type !== undefined && { type }),
    ...(how in signature && { signature: signature[how as keyof typeof signature] }),
  };
  return family === 'shipments'
    ? webhooks.emitShipment({ ...choice, shipment: data, created_at: new Date(at).toISOString() })
    : webhooks.emitPayment({ ...choice, object: data, created: Math.floor(at / 1000) });
}

/** There is no such endpoint, or it does not take events of this type. */
function refuse(error: Error): never {
  throw httpError(400, 'invalid', error.message);
}
