import { setTimeout as sleep } from 'node:timers/promises';
import { isObjectType } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSchema } from '../../../support/schema.js';
import { countLists } from '../../../../src/server/operation/cost/field-tally.js';
import { codesOf, startTestbed, type Testbed } from '../../../support/testbed.js';

const numbered = (count: number, name: string) => Array.from({ length: count }, (_, at) => `${name}${at}`);
const reader = { email: 'many@example.com', password: 'secret' };
const manyTags = 30_000;

let testbed: Testbed;
let token: string;

beforeAll(async () => {
  testbed = await startTestbed({ settings: { LOG_LEVEL: 'error' } });
  testbed.sandbox.notes.requestsPerHour = Infinity;
  testbed.sandbox.notes.addUser({ ...reader, name: 'Many' });
  insert({ title: 'One', tags: ['one', ...numbered(manyTags, 'tag')] });
  insert({ title: 'Other', tags: ['other', ...numbered(manyTags, 'tag')] });
  token = await testbed.signIn(reader);
});
afterAll(() => testbed.stop());

function insert(note: Parameters<Testbed['sandbox']['notes']['insert']>[1]): void {
  testbed.sandbox.notes.insert(reader.email, note, testbed.sandbox.clock.now());
}

const ask = (query: string, variables = {}) => testbed.ask(query, variables, token);
const first = (fields: string) => `notes(first: 1) { nodes { ${fields} } }`;

/** The first time Apollo Server answers; from the second on, the compiled query may. */
async function threeTimes(query: string, variables = {}) {
  const answers = [];
  for (let time = 0; time < 3; time += 1) {
    const { status, data, errors } = await ask(query, variables);
    answers.push({ status, data, errors });
  }
  return answers;
}

const message =
  'The response could have more than 50000 fields: request smaller pages, or fewer fields of each item.';
const refused = {
  status: 400,
  data: undefined,
  errors: [{ message, extensions: { code: 'QUERY_TOO_COMPLEX' } }],
};

test('counts every list of objects whose length is unknown in advance', () => {
  const schema = createSchema();
  const fields = Object.values(schema.getTypeMap())
    .filter(isObjectType)
    .flatMap((type) =>
      Object.values(type.getFields()).map((field) => ({ type, field, before: field.resolve })),
    );
  countLists(schema);
  const lists = fields
    .filter(({ field, before }) => field.resolve !== before)
    .map(({ type, field }) => `${type.name}.${field.name}`);
  expect(lists.filter((name) => !/^\w+Payload\.errors$/.test(name)).toSorted()).toEqual([
    'Appointment.participants',
    'Note.tags',
    'Query.webhookEndpoints',
  ]);
  expect(lists.length).toBe(3 + 8);
});

describe('the tags of notes', () => {
  test('are returned up to the limit of an answer', async () => {
    for (const { status, data } of await threeTimes(`{ ${first('tags { name }')} }`))
      expect([status, data.notes.nodes[0].tags.length]).toEqual([200, manyTags + 1]);
  });

  const shared = 'fragment F on Note { tags { __typename } }';
  test.each([
    ['in two fields', `{ ${first('tags { id name }')} }`],
    ['in a field that is selected twice', `{ ${first('tags { id } tags { name }')} }`],
    ['under two aliases', `{ ${first('one: tags { name } other: tags { name }')} }`],
    ['in fragments', `{ ${first('tags { ...F ... { name } }')} } fragment F on Tag { id }`],
    [
      'with pages below them',
      `{ ${first('tags { notes(first: 0) { nodes { id } pageInfo { endCursor } } }')} }`,
    ],
    [
      'in a selection beside a fragment',
      `{ one: ${first('...F')} other: ${first('...F tags { a: name b: id }')} } ${shared}`,
    ],
    ['of two notes', '{ notes(first: 2) { nodes { tags { name } } } }'],
    [
      'of two notes below nullable fields',
      '{ one: tag(name: "one") { ...T } other: tag(name: "other") { ...T } } fragment T on Tag { notes(first: 1) { nodes { tags { __typename } } } }',
    ],
  ])('refuse the whole query above the limit: %s', async (_, query) => {
    expect(await threeTimes(query)).toEqual([refused, refused, refused]);
  });

  test('are counted with the fields selected in the same place and not skipped', async () => {
    const { data, errors } = await ask(
      `query ($all: Boolean!) {
        one: ${first('...F')}
        other: ${first('...F tags @include(if: $all) { id name notes { nodes { id } } }')}
        again: ${first('id tags @skip(if: true) { name }')}
      } fragment F on Note { title }`,
      { all: false },
    );
    expect([errors, Object.keys(data)]).toEqual([undefined, ['one', 'other', 'again']]);
  });
});

test('counts pages below tags before it reads any of them', async () => {
  const other = { email: 'fewer@example.com', password: 'secret' };
  testbed.sandbox.notes.addUser({ ...other, name: 'Fewer' });
  testbed.sandbox.notes.insert(other.email, { tags: numbered(240, 'tag') }, testbed.sandbox.clock.now());
  const session = await testbed.signIn(other);
  const calls = async (size: number) => {
    const before = testbed.sandbox.calls.length;
    const query = `{ ${first(`tags { notes(first: ${size}) { nodes { id title content } } }`)} }`;
    const codes = codesOf(await testbed.ask(query, {}, session));
    return [codes, testbed.sandbox.calls.length - before];
  };
  expect(await calls(100)).toEqual([['QUERY_TOO_COMPLEX'], 1]);
  expect(await calls(20)).toEqual([[], 241]);
});

test('counts participants', async () => {
  const session = await testbed.signIn();
  const participants = numbered(1_000, 'Patient/').map((reference) => ({
    actor: { reference },
    status: 'ACCEPTED',
  }));
  const times = { start: '2027-01-04T09:00:00+01:00', end: '2027-01-04T09:30:00+01:00' };
  const book = `mutation ($input: CreateAppointmentInput!) { createAppointment(input: $input) {
    appointment { ...P } errors { message } } }`;
  const every = 'fragment P on Appointment { participants { actor { reference } status } }';
  const input = { ...times, status: 'BOOKED', participants };
  const booked = await testbed.ask(`${book} ${every}`, { input }, session);
  expect(booked.data.createAppointment.appointment.participants.length).toBe(1_000);
  const posts = () => testbed.sandbox.calls.filter(({ path }) => path.endsWith('/appointments')).length;
  const before = posts();
  const below = numbered(20, 'p').map((name) => `${name}: participants { actor { reference } status }`);
  const often = `fragment P on Appointment { ${below.join(' ')} }`;
  expect(await testbed.ask(`${book} ${often}`, { input }, session)).toMatchObject(refused);
  expect(posts()).toBe(before);
  for (let time = 0; time < 3; time += 1)
    expect(
      await testbed.ask(`{ appointments(first: 1) { nodes { ...P } } } ${often}`, {}, session),
    ).toMatchObject(refused);
});

describe('a mutation', () => {
  const countNotes = async () =>
    (await ask('{ notes { nodes { title } } }')).data.notes.nodes.length as number;

  test('is refused before it runs if its answer could exceed the limit', async () => {
    const before = await countNotes();
    const create = `mutation ($input: CreateNoteInput!) { createNote(input: $input) { note { tags { id name again: id } } } }`;
    const input = { title: 'T', content: 'C', tags: numbered(20_000, 'new') };
    expect(await ask(create, { input })).toMatchObject(refused);
    const written = create
      .replace('($input: CreateNoteInput!)', '')
      .replace('$input', JSON.stringify(input).replaceAll(/"(\w+)":/g, '$1:'));
    // 20,000 tags are more tokens than a document may have.
    expect(codesOf(await ask(written))).toEqual(['GRAPHQL_PARSE_FAILED']);
    expect(await countNotes()).toBe(before);
  });

  test('that exceeds the limit once it has run returns its other fields', async () => {
    const { data: found } = await ask(`{ ${first('id')} }`);
    const { id } = found.notes.nodes[0];
    const update = `mutation ($id: ID!) {
      one: updateNote(input: { id: $id, title: "New" }) { note { tags { id name } } errors { code } }
      other: updateNote(input: { id: $id, title: "Newer" }) { note { title } }
    }`;
    const { status, data, errors } = await ask(update, { id });
    expect([status, data]).toEqual([
      200,
      { one: { note: null, errors: [] }, other: { note: { title: 'Newer' } } },
    ]);
    expect(errors).toMatchObject([
      { message: `${message} The mutation may still have taken effect.`, path: ['one', 'note', 'tags'] },
    ]);
  });
});

describe('fields that fail', () => {
  const failing = (count: number) =>
    numbered(count, 'n').map((alias) => `${alias}: notes(first: -1) { __typename }`);
  const inTags = (count: number) => `tags { ${failing(count).join(' ')} }`;
  const few = { email: 'few@example.com', password: 'secret' };
  let session: string;

  beforeAll(async () => {
    testbed.sandbox.notes.addUser({ ...few, name: 'Few' });
    for (const tags of [numbered(5, 'tag'), numbered(5, 'tag')])
      testbed.sandbox.notes.insert(few.email, { tags }, testbed.sandbox.clock.now());
    session = await testbed.signIn(few);
  });

  test('are told one by one up to a thousand, and refuse the whole query beyond', async () => {
    const byTag = (tags: number) =>
      `{ ${numbered(tags, 'tag')
        .map((name) => `${name}: tag(name: "tag0") { ${failing(150).join(' ')} }`)
        .join(' ')} }`;
    for (let time = 0; time < 3; time += 1) {
      // One alone is told of each tag, since it cannot be null.
      expect(codesOf(await testbed.ask(byTag(2), {}, session))).toEqual(['BAD_USER_INPUT', 'BAD_USER_INPUT']);
      expect(await testbed.ask(`{ ${first(inTags(210))} }`, {}, session)).toMatchObject(refused);
    }
  });

  test('of a mutation are told, whatever their number', async () => {
    const update = `mutation ($id: ID!) { updateNote(input: { id: $id, title: "New" }) { note { ${inTags(210)} } errors { code } } }`;
    const { data: found } = await testbed.ask(`{ ${first('id')} }`, {}, session);
    const { data, errors } = await testbed.ask(update, { id: found.notes.nodes[0].id }, session);
    expect(data).toEqual({ updateNote: { note: null, errors: [] } });
    expect(errors?.length).toBe(1);
  });
});

test('refuses queries over a websocket as a whole', async () => {
  const socket = testbed.socket(token);
  const query =
    '{ one: tag(name: "one") { ...T } other: tag(name: "other") { ...T } } fragment T on Tag { notes(first: 1) { nodes { tags { __typename } } } }';
  expect((await socket.iterate({ query }).next()).value).toEqual({ errors: refused.errors });
  await socket.dispose();
});

test('refuses an answer of over 32 million characters', async () => {
  const long = { email: 'long@example.com', password: 'secret' };
  testbed.sandbox.notes.addUser({ ...long, name: 'Long' });
  for (let left = 40; left > 0; left -= 1)
    testbed.sandbox.notes.insert(long.email, { content: 'é'.repeat(10_000) }, testbed.sandbox.clock.now());
  const session = await testbed.signIn(long);
  const query = (times: number) =>
    `{ notes(first: 40) { nodes { ${numbered(times, 'a')
      .map((name) => `${name}: content`)
      .join(' ')} } } }`;
  for (let time = 0; time < 3; time += 1) {
    const { status, data, errors } = await testbed.ask(query(90), {}, session);
    expect([status, data, errors]).toEqual([
      400,
      undefined,
      [
        {
          message: 'The response has more than 32000000 characters: request less.',
          extensions: { code: 'QUERY_TOO_COMPLEX' },
        },
      ],
    ]);
  }
  expect(codesOf(await testbed.ask(query(4), {}, session))).toEqual([]);
});

describe('a refused query', () => {
  test.each([
    ['too many pages', [100, 100, 100], '{ pageInfo { hasNextPage } }', 255],
    ['too many tags', [200, 200, 20_000], '{ nodes { id } }', 8],
  ])('makes no further calls once it is answered: %s', async (name, counts, below, most) => {
    const busy = { email: `${name.replaceAll(' ', '.')}@example.com`, password: 'secret' };
    testbed.sandbox.notes.addUser({ ...busy, name: 'Busy' });
    for (const [at, count] of counts.entries())
      testbed.sandbox.notes.insert(
        busy.email,
        { tags: numbered(count, `t${at}_`) },
        testbed.sandbox.clock.now(),
      );
    const session = await testbed.signIn(busy);
    const query = `{ notes { nodes { tags { notes(first: 1) ${below} } } } }`;
    for (let time = 0; time < 3; time += 1) {
      const before = testbed.sandbox.calls.length;
      expect(codesOf(await testbed.ask(query, {}, session))).toEqual(['QUERY_TOO_COMPLEX']);
      const made = testbed.sandbox.calls.length;
      await sleep(200);
      expect(testbed.sandbox.calls.length - made).toBeLessThan(8); // those in progress
      expect(made - before).toBeLessThan(most);
    }
  });
});
