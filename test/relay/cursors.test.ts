import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSealer } from '../../src/lib/sealer.js';
import { allGrants, codesOf, demo, startTestbed, type Testbed } from '../support/testbed.js';
import { fillLists } from './fill-lists.js';

const key = randomBytes(32);
let testbed: Testbed;
let token: string;
let twinToken: string;

beforeAll(async () => {
  const twin = { email: 'twin@example.com', password: 'twin-password' };
  testbed = await startTestbed({
    settings: {
      GRANTS: JSON.stringify({ [demo.email]: allGrants, [twin.email]: allGrants }),
      SECRET_KEYS: key.toString('base64'),
    },
  });
  testbed.sandbox.notes.addUser({ ...twin, name: 'A Twin' });
  token = await testbed.signIn();
  twinToken = await testbed.signIn(twin);
  testbed.sandbox.notes.insert(twin.email, { title: 'Of the twin', tags: ['Work'] });
  await fillLists(testbed, token, 3);
});

afterAll(() => testbed.stop());

/** Each connection: how it is selected with arguments, a filter that can be added to them, and what it is bound to without. */
const connections = {
  notes: { list: (args: string) => `notes(${args})`, filter: 'filter: { pinned: false }', bound: [] },
  'Tag.notes': {
    list: (args: string) => `tag(name: "work") { notes(${args})`,
    filter: 'pinned: false',
    bound: [['tag', 'work']],
  },
  tags: { list: (args: string) => `tags(${args})`, filter: undefined, bound: null },
  appointments: {
    list: (args: string) => `appointments(${args})`,
    filter: 'filter: { status: BOOKED }',
    bound: [],
  },
  shipments: {
    list: (args: string) => `shipments(${args})`,
    filter: 'filter: { carrier: "Swift Parcel" }',
    bound: [],
  },
  'Shipment.events': {
    list: (args: string) => `shipment(shipmentId: "shp_0") { events(${args})`,
    filter: undefined,
    bound: [['shipmentId', 'shp_0']],
  },
  payments: {
    list: (args: string) => `payments(${args})`,
    filter: 'filter: { livemode: false }',
    bound: [],
  },
  'Payment.events': {
    list: (args: string) => `payment(paymentId: "pay_0") { events(${args})`,
    filter: undefined,
    bound: [['paymentId', 'pay_0']],
  },
  webhookDeliveries: {
    list: (args: string) => `webhookDeliveries(${args})`,
    filter: 'filter: { family: SHIPMENTS }',
    bound: [],
  },
} as const;

type Name = keyof typeof connections;
const names = Object.keys(connections) as Name[];
const backward = names.filter((name) => !['notes', 'Tag.notes', 'tags'].includes(name));

function documentOf(name: Name, args: string): string {
  const list = connections[name].list(args);
  const nested = list.includes('{ notes') || list.includes('{ events');
  return `query ($cursor: String) { list: ${list} { pageInfo { endCursor } } ${nested ? '}' : ''} }`;
}

async function cursorOf(name: Name, filter = ''): Promise<string> {
  const { data, errors } = await testbed.ask(
    documentOf(name, `first: 1, after: $cursor, ${filter}`),
    {},
    token,
  );
  expect(errors).toBeUndefined();
  const { pageInfo } = data.list.pageInfo ? data.list : (data.list.notes ?? data.list.events);
  expect(pageInfo.endCursor).toEqual(expect.any(String));
  return pageInfo.endCursor;
}

/** The error codes when this cursor is used in this connection. */
async function codesWith(name: Name, cursor: string, args = 'first: 1, after: $cursor', as = token) {
  return codesOf(await testbed.ask(documentOf(name, args), { cursor }, as));
}

const alphabet = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_');

/** The cursor with each character replaced by two others, the last by all others; or cut, extended or respelled. */
function alterations(cursor: string): readonly string[] {
  const change = (place: number, character: string) =>
    cursor.slice(0, place) + character + cursor.slice(place + 1);
  const altered = Array.from(cursor).flatMap((character, place) => {
    const at = alphabet.indexOf(character);
    const others = place === cursor.length - 1 ? alphabet : [alphabet[at ^ 1]!, alphabet[(at + 29) % 64]!];
    return others.filter((other) => other !== character).map((other) => change(place, other));
  });
  const last = cursor.length - 1;
  const around = [
    cursor.slice(0, last),
    cursor.slice(1),
    `${cursor}A`,
    `${cursor}=`,
    `${cursor} `,
    `${cursor}\n`,
  ];
  const respelled = [
    change(last, '+'),
    change(last, '/'),
    change(3, '%'),
    '',
    cursor + cursor,
    cursor.toLowerCase(),
  ];
  return [...altered, ...around, ` ${cursor}`, ...respelled];
}

describe.for(names)('a cursor of %s', (name) => {
  test('is valid in its own connection', async () => {
    expect(await codesWith(name, await cursorOf(name))).toEqual([]);
  });

  test('is the same each time for the same place', async () => {
    expect(await cursorOf(name)).toBe(await cursorOf(name));
  });

  test('is sealed as the cursors are that clients hold: bound to connection, caller and filter', async () => {
    const cursor = await cursorOf(name);
    const { data } = await testbed.ask('{ viewer { upstreamId } }', {}, token);
    const place = `cursor ${JSON.stringify([name, data.viewer.upstreamId, connections[name].bound])}`;
    const sealer = createSealer([key]);
    expect(sealer.sealDeterministically(sealer.open(cursor, place) ?? '', place)).toBe(cursor);
  });

  test('is CURSOR_INVALID if any character is altered, without a read of notes', async () => {
    const altered = alterations(await cursorOf(name)).values();
    const calls = testbed.sandbox.calls.length;
    const accepted: string[] = [];
    const worker = async () => {
      for (const cursor of altered) {
        const [code, ...more] = await codesWith(name, cursor);
        if (code !== 'CURSOR_INVALID' || more.length > 0) accepted.push(`${cursor}: ${String(code)}`);
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    expect(accepted).toEqual([]);
    const made = testbed.sandbox.calls.slice(calls);
    expect(made.filter(({ path }) => path.startsWith('/notes'))).toEqual([]);
  });

  test('is CURSOR_INVALID for another caller', async () => {
    const args = 'first: 1, after: $cursor';
    expect(await codesWith(name, await cursorOf(name), args, twinToken)).toEqual(['CURSOR_INVALID']);
  });

  test('is CURSOR_INVALID in every other connection', async () => {
    const cursor = await cursorOf(name);
    for (const another of names.filter((one) => one !== name))
      expect([another, await codesWith(another, cursor)]).toEqual([another, ['CURSOR_INVALID']]);
  });

  test('is CURSOR_INVALID in a subscription, as a live cursor is in the connection', async () => {
    const { data } = await testbed.ask('{ liveCursor }', {}, token);
    expect(await codesWith(name, data.liveCursor)).toEqual(['CURSOR_INVALID']);
    const client = testbed.socket(token);
    const updates = client.iterate({
      query: 'subscription ($after: String) { shipmentUpdates(after: $after) { cursor } }',
      variables: { after: await cursorOf(name) },
    });
    const { value } = await updates.next();
    expect(codesOf(value)).toEqual(['CURSOR_INVALID']);
    await client.dispose();
  });
});

describe.for(names.filter((name) => connections[name].filter !== undefined))('a cursor of %s', (name) => {
  test('is CURSOR_INVALID with another filter, as is a cursor with that filter without it', async () => {
    const { filter } = connections[name];
    expect(await codesWith(name, await cursorOf(name), `first: 1, after: $cursor, ${filter}`)).toEqual([
      'CURSOR_INVALID',
    ]);
    expect(await codesWith(name, await cursorOf(name, filter))).toEqual(['CURSOR_INVALID']);
  });
});

describe.for(backward)('a cursor of %s', (name) => {
  test('is CURSOR_INVALID as `before` if altered, or for another caller', async () => {
    const cursor = await cursorOf(name);
    const args = 'last: 1, before: $cursor';
    expect(await codesWith(name, cursor, args)).toEqual([]);
    expect(await codesWith(name, `${cursor}A`, args)).toEqual(['CURSOR_INVALID']);
    expect(await codesWith(name, cursor, args, twinToken)).toEqual(['CURSOR_INVALID']);
  });
});

test('a cursor of events belongs to one shipment', async () => {
  const shipment = await cursorOf('Shipment.events');
  const ask = (field: string) =>
    testbed.ask(
      `query ($cursor: String) { ${field} { events(first: 1, after: $cursor) { nodes { id } } } }`,
      { cursor: shipment },
      token,
    );
  expect(codesOf(await ask('shipment(shipmentId: "shp_0")'))).toEqual([]);
  expect(codesOf(await ask('shipment(shipmentId: "shp_1")'))).toEqual(['CURSOR_INVALID']);
});

test('an altered live cursor is CURSOR_INVALID', async () => {
  const { data } = await testbed.ask('{ liveCursor }', {}, token);
  const client = testbed.socket(token);
  const query = 'subscription ($after: String) { paymentUpdates(after: $after) { cursor } }';
  const first = async (after: string) => (await client.iterate({ query, variables: { after } }).next()).value;
  const answers = await Promise.all(
    alterations(data.liveCursor).map(async (after) => codesOf(await first(after))),
  );
  await client.dispose();
  expect(answers.filter(([code]) => code !== 'CURSOR_INVALID')).toEqual([]);
});
