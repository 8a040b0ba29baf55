import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { demo, startTestbed, type Testbed } from '../support/testbed.js';

let testbed: Testbed;
let token: string;
const figures: { readonly what: string; readonly calls: string }[] = [];

beforeAll(async () => {
  testbed = await startTestbed();
  token = await testbed.signIn();
});

afterAll(async () => {
  await testbed.stop();
  // oxlint-disable-next-line no-console -- the figures are what this file is read for
  console.table(figures);
});

/** Returns the outcome of `run`, and the calls that the services received meanwhile, as `GET /notes`. */
async function during<T>(run: () => Promise<T>): Promise<{ outcome: T; calls: readonly string[] }> {
  const before = testbed.sandbox.calls.length;
  const outcome = await run();
  const calls = testbed.sandbox.calls.slice(before);
  return { outcome, calls: calls.map(({ method, path }) => `${method} ${path.replace(/\?.*/, '')}`) };
}

function show(what: string, calls: readonly string[]): void {
  const counts = new Map<string, number>();
  for (const call of calls) counts.set(call, (counts.get(call) ?? 0) + 1);
  figures.push({
    what,
    calls: [...counts].map(([call, count]) => `${count} × ${call}`).join(', ') || 'none',
  });
}

/** Delays the next answers of the notes service, which are made before the delay. */
function delayReads(ms: number, times = 1): void {
  const act = { kind: 'afterwards', act: { kind: 'delay', ms } } as const;
  testbed.sandbox.faults.add({ service: 'notes', method: 'GET', times, act });
}

/** Starts to read the titles, from an answer that the service makes now and sends later. */
async function readSlowly(): Promise<{ readonly stale: Promise<readonly string[]> }> {
  const before = testbed.sandbox.calls.length;
  delayReads(1500);
  const stale = titles();
  await expect.poll(() => testbed.sandbox.calls.length, { interval: 5 }).toBe(before + 1);
  return { stale };
}

async function titles(): Promise<readonly string[]> {
  const { nodes } = await page('title', { first: 100 });
  return nodes.map(({ title }: { title: string }) => title);
}

/** How many operations of one user are in progress at once; the others wait for their turn. */
const inProgress = 8;
const times = (count: number) => Array.from({ length: count }, (_, index) => index);

async function page(fields: string, variables: object = {}) {
  const { data, errors } = await testbed.ask(
    `query ($first: Int, $after: String) {
      notes(first: $first, after: $after) { nodes { ${fields} } pageInfo { hasNextPage endCursor } }
    }`,
    variables,
    token,
  );
  expect(errors).toBeUndefined();
  return data.notes;
}

function book(start: number) {
  const at = (minutes: number) => new Date(Date.UTC(2027, 0, 1, 9, minutes)).toISOString();
  const participants = [{ actor: { reference: 'Patient/42' }, status: 'ACCEPTED' }];
  return testbed.ask(
    `mutation ($input: CreateAppointmentInput!) {
      createAppointment(input: $input) { appointment { confirmation } errors { code } }
    }`,
    { input: { status: 'BOOKED', start: at(start), end: at(start + 1), participants } },
    token,
  );
}

describe('bookings', () => {
  test('a hundred concurrent first bookings request one token', async () => {
    const { outcome, calls } = await during(() => Promise.all(times(100).map(book)));
    show('100 concurrent first bookings', calls);
    expect(outcome.map(({ data }) => data?.createAppointment.appointment?.confirmation)).toEqual(
      times(100).map(() => 'CONFIRMED'),
    );
    expect(calls.filter((call) => call === 'POST /oauth/token')).toHaveLength(1);
    expect(calls.filter((call) => call === 'POST /appointments')).toHaveLength(100);
  });

  test('the next booking uses the same token', async () => {
    const { calls } = await during(() => book(0));
    show('the next booking', calls);
    expect(calls).toEqual(['POST /appointments']);
  });

  test('a revoked token costs one refresh and one retry', async () => {
    testbed.sandbox.appointments.revokeTokens();
    const { outcome, calls } = await during(() => book(0));
    show('a booking with a revoked token', calls);
    expect(outcome.data.createAppointment.appointment).toEqual({ confirmation: 'CONFIRMED' });
    expect(calls).toEqual(['POST /appointments', 'POST /oauth/token', 'POST /appointments']);
  });

  test('twenty concurrent bookings with a revoked token refresh it once', async () => {
    testbed.sandbox.appointments.revokeTokens();
    const { outcome, calls } = await during(() => Promise.all(times(20).map(book)));
    show('20 concurrent bookings with a revoked token', calls);
    expect(outcome.map(({ data }) => data.createAppointment.appointment.confirmation)).toEqual(
      times(20).map(() => 'CONFIRMED'),
    );
    expect(calls.filter((call) => call === 'POST /oauth/token')).toHaveLength(1);
    expect(calls.filter((call) => call === 'POST /appointments').length).toBeLessThanOrEqual(40);
  });
});

describe('reading notes', () => {
  test('a page of twenty with the names of their tags costs one call, and so does the next', async () => {
    const first = await during(() => page('id tags { name }', { first: 20 }));
    show('notes(first: 20), tags without count', first.calls);
    expect(first.calls).toEqual(['GET /notes']);
    expect(first.outcome.nodes).toHaveLength(20);
    const after = first.outcome.pageInfo.endCursor;
    const next = await during(() => page('id tags { name }', { first: 20, after }));
    show('the next page', next.calls);
    expect(next.calls).toEqual(['GET /notes']);
    expect(next.outcome.nodes).toHaveLength(20);
  });

  test('tag counts cost one more call', async () => {
    const { outcome, calls } = await during(() => page('id tags { name count }', { first: 20 }));
    show('notes(first: 20) with the counts of their tags', calls);
    expect(calls.toSorted()).toEqual(['GET /notes', 'GET /tags']);
    expect(outcome.nodes[0].tags[0].count).toBeGreaterThan(0);
  });

  test('forty notes seen on two pages are read again with two calls', async () => {
    const first = await page('id', { first: 20 });
    const second = await page('id', { first: 20, after: first.pageInfo.endCursor });
    const ids = [...first.nodes, ...second.nodes].map(({ id }) => id);
    const { outcome, calls } = await during(() =>
      testbed.ask('query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on Note { title } } }', { ids }, token),
    );
    show('nodes() of 40 notes seen on two pages', calls);
    expect(outcome.data.nodes.map(({ id }: { id: string }) => id)).toEqual(ids);
    expect(calls).toEqual(['GET /notes', 'GET /notes']);
  });

  test('a note that cannot be read costs one call, even if the operation is run again after the error', async () => {
    const { nodes } = await page('id', { first: 1 });
    const ask = () => testbed.ask(`query ($id: ID!) { node(id: $id) { id } }`, nodes[0], token);
    await ask(); // from the second time on, it runs compiled
    const act = { kind: 'answer', status: 503, headers: { 'retry-after': '1' } } as const; // so it is not retried
    testbed.sandbox.faults.add({ service: 'notes', act });
    const { outcome, calls } = await during(ask);
    testbed.sandbox.faults.clear();
    show('a note that cannot be read', calls);
    expect(outcome.errors).toMatchObject([{ extensions: { code: 'UPSTREAM_UNAVAILABLE' } }]);
    expect(calls).toEqual(['GET /notes']);
  });

  test('fifty aliases of the viewer cost one call', async () => {
    const aliases = times(50).map((index) => `v${index}: viewer { name }`);
    const { outcome, calls } = await during(() => testbed.ask(`{ ${aliases.join(' ')} }`, {}, token));
    show('50 aliases of viewer in one operation', calls);
    expect(Object.values(outcome.data)).toEqual(times(50).map(() => ({ name: 'Dana Demo' })));
    expect(calls).toEqual(['GET /me']);
  });

  test.each([
    [inProgress, 1],
    [50, 7],
  ])('%i concurrent identical queries, which take turns, cost %i', async (queries, cost) => {
    delayReads(600, Infinity);
    const { outcome, calls } = await during(() =>
      Promise.all(times(queries).map(() => page('id title', { first: 20 }))),
    );
    testbed.sandbox.faults.clear();
    show(`${queries} concurrent identical queries of one session`, calls);
    expect(calls).toEqual(times(cost).map(() => 'GET /notes'));
    expect(outcome).toEqual(times(queries).map(() => outcome[0]));
  });

  test('a call in flight is not shared with another session', async () => {
    const other = await testbed.signIn();
    delayReads(400, 2);
    const query = '{ notes(first: 3) { nodes { id } } }';
    const { outcome, calls } = await during(() =>
      Promise.all([testbed.ask(query, {}, token), testbed.ask(query, {}, other)]),
    );
    show('the same query of two sessions at once', calls);
    expect(calls).toEqual(['GET /notes', 'GET /notes']);
    expect(outcome[0].data).toEqual(outcome[1].data);
  });
});

describe('a read shows a write that ended before it', () => {
  async function create(title: string): Promise<string> {
    const { data } = await testbed.ask(
      `mutation ($input: CreateNoteInput!) { createNote(input: $input) { note { id } errors { code } } }`,
      { input: { title, content: 'Words.' } },
      token,
    );
    return data.createNote.note.id;
  }

  test('with one call each', async () => {
    const { calls } = await during(async () => {
      await create('Written, then read');
      expect(await titles()).toContain('Written, then read');
    });
    show('createNote, then notes', calls);
    expect(calls).toEqual(['POST /notes', 'GET /notes']);
  });

  test.for([
    ['create', ['After create', 'Before create']],
    ['update', ['After update']],
    ['delete', []],
  ] as const)('%s, while an older read is in flight', async ([kind, shown]) => {
    const id = await create(`Before ${kind}`);
    const { stale } = await readSlowly();
    const input = {
      create: { title: 'After create', content: 'Words.' },
      update: { id, title: 'After update' },
      delete: { id },
    };
    const name = `${kind}Note`;
    const type = `${kind[0]!.toUpperCase()}${kind.slice(1)}NoteInput`;
    const write = `mutation ($input: ${type}!) { ${name}(input: $input) { errors { code } } }`;
    expect((await testbed.ask(write, { input: input[kind] }, token)).data[name].errors).toEqual([]);
    expect((await titles()).filter((title) => title.endsWith(kind))).toEqual(shown);
    // The older read may show either state; this checks that it was delayed and still answered.
    expect(await stale).toContain(`Before ${kind}`);
  });

  test('concurrent reads, which share one call, while an older read is in flight', async () => {
    const { stale } = await readSlowly();
    await create('For many readers');
    delayReads(600);
    const readers = inProgress - 1;
    const { outcome, calls } = await during(() => Promise.all(times(readers).map(titles)));
    show(`${readers} concurrent identical queries after a write, an older one in flight`, calls);
    expect(outcome.every((seen) => seen.includes('For many readers'))).toBe(true);
    expect(calls).toEqual(['GET /notes']);
    await stale;
  });

  test('a write by another client, as answers are not cached', async () => {
    await page('id', { first: 3 });
    const { title } = testbed.sandbox.notes.insert(demo.email, { title: 'From elsewhere' });
    expect(await titles()).toContain(title);
  });
});
