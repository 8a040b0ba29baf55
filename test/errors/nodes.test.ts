import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fromGlobalId, toGlobalId } from '../../src/graphql/global-id.js';
import { codesOf } from '../support/testbed.js';
import { only, type Person, type Harness, startHarness } from './harness.js';

const types = [
  'User',
  'Note',
  'Tag',
  'Appointment',
  'Shipment',
  'ShipmentEvent',
  'Payment',
  'PaymentEvent',
] as const;
const behindGrants = ['Shipment', 'ShipmentEvent', 'Payment', 'PaymentEvent'];

const query = `query ($id: ID!) { node(id: $id) { __typename id
  ... on User { email } ... on Note { title } ... on Tag { name count } ... on Appointment { status }
  ... on Shipment { shipmentId stage } ... on ShipmentEvent { eventId stage }
  ... on Payment { paymentId amount } ... on PaymentEvent { eventId amount } } }`;
const several = 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }';

let harness: Harness;
let owner: Person;
let ids: Readonly<Record<(typeof types)[number], string>>;

beforeAll(async () => {
  harness = await startHarness();
  owner = await harness.join();
  const { sandbox } = harness;
  await sandbox.webhooks.emitShipment({ id: 'evt_s', shipment: { id: 'shp_1' } });
  await sandbox.webhooks.emitPayment({ id: 'evt_p', object: { id: 'pay_1', amount: 7 } });
  sandbox.notes.insert(owner.email, { title: 'A title', tags: ['Work'] });
  await owner.ask(`mutation { createAppointment(input: { status: BOOKED
    start: "2026-11-21T09:00:00Z", end: "2026-11-21T10:00:00Z"
    participants: [{ actor: { reference: "Patient/1" }, status: ACCEPTED }] }) { errors { code } } }`);
  const { data } =
    await owner.ask(`{ viewer { id } notes { nodes { id tags { id } } } appointments { nodes { id } }
    shipment(shipmentId: "shp_1") { id events { nodes { id } } }
    payment(paymentId: "pay_1") { id events { nodes { id } } } }`);
  ids = {
    User: data.viewer.id,
    Note: data.notes.nodes[0].id,
    Tag: data.notes.nodes[0].tags[0].id,
    Appointment: data.appointments.nodes[0].id,
    Shipment: data.shipment.id,
    ShipmentEvent: data.shipment.events.nodes[0].id,
    Payment: data.payment.id,
    PaymentEvent: data.payment.events.nodes[0].id,
  };
});
afterAll(() => harness.stop());

const node = async (id: string, by = owner) => only(await by.ask(query, { id }));

describe('node', () => {
  test('finds objects of all eight types', async () => {
    const found = await Promise.all(types.map((type) => node(ids[type])));
    const expected = [
      { email: owner.email },
      { title: 'A title' },
      { name: 'Work', count: 1 },
      { status: 'BOOKED' },
      { shipmentId: 'shp_1', stage: 'CREATED' },
      { eventId: 'evt_s', stage: 'CREATED' },
      { paymentId: 'pay_1', amount: 7 },
      { eventId: 'evt_p', amount: 7 },
    ];
    expect(found).toEqual(
      types.map((type, place) => ({ __typename: type, id: ids[type], ...expected[place] })),
    );
  });

  test.each(types)('gives null for a %s that does not exist', async (type) => {
    for (const id of ['nothing', '', '..', '\0', '😀', '\ud800', 'x'.repeat(10_000)])
      expect(await node(toGlobalId(type, id))).toBeNull();
  });

  test.each(types)('gives null for a %s that the caller may not see', async (type) => {
    const stranger = await harness.join('none.example');
    expect(await node(ids[type], stranger)).toBeNull();
  });

  test.each(types)('gives a %s to another user only if they may see it', async (type) => {
    const another = await harness.join();
    const seen = behindGrants.includes(type) || type === 'Appointment';
    expect((await node(ids[type], another))?.id ?? null).toBe(seen ? ids[type] : null);
  });

  test('gives null for an invalid id or type, without a call', async () => {
    const altered = [`${ids.Note}=`, `${ids.Note} `, ids.Note.slice(1), '', '{}', 'null', '🤷'];
    const made = ['Nothing', 'Query', '__proto__', 'constructor', 'NoteEdge'].map((type) =>
      toGlobalId(type, '1'),
    );
    const calls = await harness.callsOf(async () => {
      for (const id of [...altered, ...made]) expect([id, await node(id)]).toEqual([id, null]);
    });
    expect(calls).toEqual([]);
    expect(fromGlobalId(ids.Note)?.type).toBe('Note');
  });
});

describe('nodes', () => {
  test('returns objects in the order of the ids, the same one twice, and null for missing ones', async () => {
    const asked = [ids.Payment, 'nothing', ids.Note, ids.User, ids.Note, toGlobalId('Note', 'gone')];
    const found = only(await owner.ask(several, { ids: asked })) as ({ id: string } | null)[];
    expect(found.map((one) => one?.id ?? null)).toEqual([
      ids.Payment,
      null,
      ids.Note,
      ids.User,
      ids.Note,
      null,
    ]);
  });

  test('reports the failure of one item, and returns the others', async () => {
    const restore = harness.sandbox.faults.add({
      service: 'notes',
      path: /tags/,
      act: { kind: 'answer', status: 400 },
    });
    const answer = await owner.ask(several, { ids: [ids.Tag, ids.Shipment] });
    restore();
    expect(answer.data.nodes).toEqual([null, { __typename: 'Shipment', id: ids.Shipment }]);
    expect(codesOf(answer)).toEqual(['UPSTREAM_INVALID_RESPONSE']);
    expect(answer.errors![0]!.path).toEqual(['nodes', 0]);
  });
});
