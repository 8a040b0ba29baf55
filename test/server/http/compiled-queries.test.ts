import { getIntrospectionQuery } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { watchApollo } from '../../support/apollo.js';
import { codesOf, startTestbed, type Testbed } from '../../support/testbed.js';
import { createOperation, createRandom, inOrder, type Operation } from '../random-operations.js';

const seenByApollo = watchApollo();
const operations = Number(process.env['RUNS'] ?? 500);
/** Few enough for the quota of each notes token, a thousand calls an hour. */
const operationsPerSession = 40;
const origins = ['https://one.example', 'https://two.example'];

describe('a repeated operation', () => {
  let testbed: Testbed;
  let token: string;
  let ids: readonly string[];

  beforeAll(async () => {
    testbed = await startTestbed({ settings: { LOG_LEVEL: 'error', ALLOWED_ORIGINS: origins.join() } });
    testbed.sandbox.notes.requestsPerHour = Infinity;
    for (let at = 0; at < 6; at += 1) {
      await testbed.sandbox.webhooks.emitShipment({ shipment: { id: `shp_${at % 3}` } });
      await testbed.sandbox.webhooks.emitPayment({ object: { id: `pay_${at % 2}` } });
    }
    token = await testbed.signIn();
    const { data } = await testbed.ask(
      '{ viewer { id } notes(first: 3) { nodes { id tags { id } } } shipments { nodes { id events { nodes { id } } } } payments { nodes { id } } }',
      {},
      token,
    );
    ids = [...JSON.stringify(data).matchAll(/"id":"([^"]+)"/g)].map(([, id]) => id!);
  });
  afterAll(() => testbed.stop());

  async function ask(operation: Operation, more: Readonly<Record<string, string>> = {}) {
    const response = await fetch(`${testbed.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...more },
      body: JSON.stringify({ ...operation, operationName: 'Q' }),
    });
    const headers = Object.fromEntries(response.headers);
    const byApollo = seenByApollo.has(headers['x-request-id']!);
    // What is left of the calls to the notes service is less after each.
    const own = ['x-request-id', 'date', 'connection', 'keep-alive', 'ratelimit'];
    for (const name of own) delete headers[name];
    return { answer: { status: response.status, text: inOrder(await response.text()), headers }, byApollo };
  }

  test('is left to Apollo Server if its body is large', async () => {
    const query = 'query Q($ids: [ID!]!) { nodes(ids: $ids) { id } }';
    const ways = [];
    for (const length of [1, 1, 15_000, 20_000])
      ways.push((await ask({ query, variables: { ids: ['a'.repeat(length)] } })).byApollo);
    expect(ways).toEqual([true, false, false, true]);
  });

  test('is left to Apollo Server if the compiler would look at its fields at very many levels', async () => {
    const nested = (levels: number, condition: string) => {
      const kinds = ['notes(first: 1)', 'nodes', 'tags'];
      const way = Array.from({ length: levels }, (_, at) => `${kinds[at % 3]} ${condition} {`).join(' ');
      const names = Array.from({ length: 200 }, (_, at) => `a${at}: __typename`).join(' ');
      const query = `query Q($on: Boolean!) { ${way} ${names} ${'}'.repeat(levels)} b: __typename @skip(if: $on) }`;
      return { query, variables: { on: false } };
    };
    const condition = '@include(if: $on)';
    for (const [levels, byApollo] of [
      [10, false],
      [40, true],
    ] as const) {
      await ask(nested(levels, condition));
      expect((await ask(nested(levels, condition))).byApollo).toBe(byApollo);
    }
  });

  test('stays compiled while it is used, however many others come', async () => {
    const hot = {
      query: 'query Q($name: String!) { hot: tag(name: $name) { name } }',
      variables: { name: 'a' },
    };
    for (let time = 0; time < 2; time += 1) await ask(hot);
    const ways = [];
    for (let at = 0; at < 700; at += 1) {
      await ask({ query: `query Q { a${at}: __typename }`, variables: {} });
      if (at % 20 === 0) ways.push((await ask(hot)).byApollo);
    }
    expect(new Set(ways)).toEqual(new Set([false]));
    expect((await ask({ ...hot, variables: { name: 'b' } })).byApollo).toBe(false);
    const cold = { query: 'query Q { a0: __typename }', variables: {} };
    expect((await ask(cold)).byApollo).toBe(true);
  });

  test('is no longer compiled after others of 10,000 fields in all', async () => {
    const large = (at: number) => {
      const names = Array.from({ length: 900 }, (_, field) => `a${field}: name`).join(' ');
      return {
        query: `query Q { b${at}: tag(name: "none") { ...F } } fragment F on Tag { ${names} }`,
        variables: {},
      };
    };
    for (const byApollo of [true, false]) expect((await ask(large(0))).byApollo).toBe(byApollo);
    for (let at = 1; at <= 30; at += 1) await ask(large(at));
    expect((await ask(large(0))).byApollo).toBe(true);
  });

  test('is answered with the headers for its own origin', async () => {
    const operation = { query: 'query Q { viewer { id } }', variables: {} };
    const seen = [];
    for (const origin of [...origins, ...origins]) {
      const { answer, byApollo } = await ask(operation, { origin });
      seen.push([answer.headers['access-control-allow-origin'], byApollo]);
    }
    const [one, two] = origins;
    expect(seen).toEqual([
      [one, true],
      [two, true],
      [one, false],
      [two, false],
    ]);
  });

  test.each(['', ' ', ',', '# none\n', '\ufeff'])(
    'keeps the order of its fields, whatever is between `@` and a condition: %j',
    async (between) => {
      const query = `query Q($off: Boolean!) { viewer { id @${between}include(if: $off) name id } }`;
      for (let time = 0; time < 3; time += 1) {
        const { answer, byApollo } = await ask({ query, variables: { off: false } });
        expect(answer.text).toMatch(/"viewer":{"name":"[^"]+","id":/);
        expect(byApollo).toBe(true);
      }
    },
  );

  test.each([
    ['its spread', 'a: viewer { id ...F @include(if: $off) } b: viewer { ...F }'],
    ['a fragment around it', 'a: viewer { id ... @include(if: $off) { ...F } } b: viewer { ...F }'],
    ['another fragment that spreads it', 'a: viewer { id ...G @include(if: $off) } b: viewer { ...F }'],
  ])('has the fields of a fragment although %s has a condition elsewhere', async (_, selection) => {
    const other = selection.includes('...G') ? 'fragment G on User { ...F }' : '';
    const query = `query Q($off: Boolean!) { ${selection} } fragment F on User { name } ${other}`;
    for (let time = 0; time < 3; time += 1) {
      const { answer } = await ask({ query, variables: { off: false } });
      expect(answer.text).toMatch(/^{"data":{"a":{"id":"[^"]+"},"b":{"name":"[^"]+"}}}/);
    }
  });

  const introspection = getIntrospectionQuery().replace('IntrospectionQuery', 'Q');
  test.each([
    ['all of it', introspection, {}],
    ['a type, by another name', 'query Q { one: __type(name: "Note") { name fields { name } } }', {}],
  ])('that asks for the schema is answered like the first time: %s', async (_, query, variables) => {
    const first = await ask({ query, variables });
    expect(first).toMatchObject({ byApollo: true, answer: { status: 200 } });
    const again = await ask({ query, variables });
    expect(again).toEqual({ ...first, byApollo: false });
    expect(await ask({ query, variables })).toEqual(again);
  });

  test('that asks for the schema is left to Apollo Server if the answer has a million characters', async () => {
    const names = Array.from({ length: 200 }, (_, at) => `x${at}: type { name }`).join(' ');
    for (let time = 0; time < 3; time += 1) {
      const { answer, byApollo } = await ask({
        query: `query Q { __schema { types { fields { ${names} } } } }`,
        variables: {},
      });
      expect(answer.text.length).toBeGreaterThan(1_000_000);
      expect(byApollo).toBe(true);
    }
  });

  test.each([
    ['something else', 'query Q { __type(name: "Note") { name } viewer { name } }', {}],
    ['what a variable names', 'query Q($name: String!) { __type(name: $name) { name } }', { name: 'Note' }],
    [
      'it by a fragment',
      'query Q { ...F } fragment F on Query { __type(name: "Note") { name } viewer { name } }',
      {},
    ],
  ])('that asks for the schema is left to Apollo Server if it asks for %s', async (_, query, variables) => {
    for (let time = 0; time < 3; time += 1) {
      const { answer, byApollo } = await ask({ query, variables });
      expect(answer.text).toContain('"name":"Note"');
      expect(byApollo).toBe(true);
    }
  });

  const filtered = '($__proto__: NoteFilter) { notes(filter: $__proto__) { nodes { __typename } } }';
  test.each<[string, string, object, RegExp]>([
    ['a field', '{ tags { nodes { id __proto__: name } } }', {}, /"id":"[^"]+","__proto__":"Work"/],
    [
      'a field of a fragment',
      '{ tags { nodes { id ...F } } } fragment F on Tag { __proto__: name }',
      {},
      /"id":"[^"]+","__proto__":"Work"/,
    ],
    [
      'a root field',
      '{ __proto__: tags { __typename } }',
      {},
      /{"__proto__":{"__typename":"TagConnection"}}/,
    ],
    ['a variable', filtered, { ['__proto__']: { tag: 'none' } }, /{"nodes":\[\]}/],
    ['a variable that is not given', filtered, {}, /{"nodes":\[{"__typename":"Note"}/],
  ])('is left to Apollo Server if `__proto__` names %s', async (_, query, variables, expected) => {
    for (let time = 0; time < 3; time += 1) {
      const { answer, byApollo } = await ask({ query: `query Q ${query}`, variables: { ...variables } });
      expect(answer.text).toMatch(expected);
      expect(byApollo).toBe(true);
    }
  });

  test.each(['NoteFilter', 'AppointmentFilter!'])(
    'accepts the same values for a %s as Apollo Server',
    async (type) => {
      const field = type.startsWith('Note') ? 'notes' : 'appointments';
      const query = `query Q($of: ${type}) { ${field}(filter: $of) { nodes { id } } }`;
      for (let time = 0; time < 2; time += 1) await ask({ query, variables: { of: {} } });
      expect((await ask({ query, variables: { of: {} } })).byApollo).toBe(false);
      for (const of of [
        [],
        [{}],
        [[]],
        { tag: [] },
        { pinned: [] },
        { none: 1 },
        '',
        'text',
        0,
        1.5,
        true,
        null,
      ]) {
        const { answer } = await ask({ query, variables: { of } });
        const { answer: byApollo } = await ask({
          query: `${query} # ${JSON.stringify(of)}`,
          variables: { of },
        });
        expect([of, answer.status, answer.text]).toEqual([of, byApollo.status, byApollo.text]);
      }
    },
  );

  test.each([
    ['viewer { id name @skip(if: $given) }', 'Boolean = false'],
    ['viewer { id ... @include(if: $given) { name } }', 'Boolean = true'],
    ['nodes(ids: [$given]) { id }', 'ID = "x"'],
  ])(
    'refuses null for a nullable variable that is allowed only for its default: %s',
    async (selection, type) => {
      const query = `query Q($given: ${type}) { ${selection} }`;
      const answers = [];
      for (const given of [undefined, undefined, null, undefined]) {
        const { answer, byApollo } = await ask({ query, variables: { given } });
        answers.push([byApollo, /must not be null|has invalid value/.test(answer.text)]);
      }
      expect(answers).toEqual([
        [true, false],
        [false, false],
        [true, true],
        [false, false],
      ]);
    },
  );

  test('is tallied anew if it ends with an error and Apollo Server runs it again', async () => {
    const reader = { email: 'many@example.com', password: 'secret' };
    testbed.sandbox.notes.addUser({ ...reader, name: 'Many' });
    const tags = Array.from({ length: 30_000 }, (_, at) => `tag${at}`);
    testbed.sandbox.notes.insert(reader.email, { title: 'T', tags }, testbed.sandbox.clock.now());
    const session = await testbed.signIn(reader);
    const query = '{ notes { nodes { tags { name } } } shipment(shipmentId: "none") { id } }';
    for (let time = 0; time < 3; time += 1) {
      const answered = await testbed.ask(query, {}, session);
      expect(codesOf(answered)).toEqual(['FORBIDDEN']);
      expect(answered.data.notes.nodes[0].tags.length).toBe(tags.length);
    }
  });

  test(
    'has the same bytes and headers as the first time, including errors and nulls',
    { timeout: 300_000 },
    async () => {
      const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31);
      const random = createRandom(seed);
      const counts = { data: 0, errors: 0, refused: 0, compiled: 0, withConditions: 0 };
      for (let at = 0; at < operations; at += 1) {
        if (at % operationsPerSession === 0) token = await testbed.signIn();
        const operation = createOperation(random, ids);
        const { answer: first } = await ask(operation);
        // The second time it is compiled, and the third it runs as it was compiled then.
        const second = await ask(operation);
        const repeated = second.byApollo ? [second] : [second, await ask(operation)];
        // If several fields can null the whole answer, the first to fail is reported, which is a matter of timing.
        const answers = [first, ...repeated.map(({ answer }) => answer)];
        const nothing = answers.every(({ text }) => text.trimEnd().endsWith('"data":null}'));
        if (nothing && answers.some(({ text }) => text !== first.text)) continue;
        for (const { answer } of repeated)
          expect(answer, `SEED=${seed}, operation ${at}: ${JSON.stringify(operation)}`).toEqual(first);
        counts[first.status !== 200 ? 'refused' : first.text.includes('"errors"') ? 'errors' : 'data'] += 1;
        if (second.byApollo) continue;
        counts.compiled += 1;
        if (/\b(skip|include)\b/.test(operation.query)) counts.withConditions += 1;
      }
      // oxlint-disable-next-line no-console -- the seed, with which a run can be repeated
      console.log(`${operations} operations of seed ${seed}: ${JSON.stringify(counts)}`);
      expect(counts.data).toBeGreaterThan(operations / 10);
      expect(counts.errors).toBeGreaterThan(operations / 50);
      expect(counts.compiled).toBeGreaterThan(operations / 10);
      expect(counts.withConditions).toBeGreaterThan(operations / 50);
    },
  );
});
