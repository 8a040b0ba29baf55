import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { makeExecutableSchema } from '@graphql-tools/schema';
import { graphql } from 'graphql';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  appointmentNodes,
  type AppointmentsContext,
  appointmentsResolvers,
} from '../../../src/domains/appointments/resolvers.js';
import { Appointments } from '../../../src/domains/appointments/appointments.js';
import type { Grant } from '../../../src/generated/resolvers.js';
import { createCursors } from '../../../src/graphql/cursors.js';
import { idOf } from '../../../src/graphql/global-id.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.js';
import { createSealer } from '../../../src/lib/sealer.js';
import { LightAbortController } from '../../../src/lib/async/abort.js';
import { Reads } from '../../../src/store/sql/read-budget.js';
import { recordStatements } from '../../store/open-database.js';
import { createTestFile } from '../../support/sqlite.js';
import { postsOf, startReplica } from './replica.js';

// oxlint-disable-next-line typescript/no-explicit-any -- tests pick members out of answers of every shape
type Data = any;

const sdl = ['base', 'appointments'].map((name) => readFileSync(`schema/${name}.graphql`, 'utf8'));
const schema = makeExecutableSchema<AppointmentsContext>({
  typeDefs: [...sdl, 'extend type Subscription { none: Int }'],
  resolvers: [
    appointmentsResolvers,
    {
      Node: { __resolveType: () => 'Appointment' },
      Query: {
        node: (_: unknown, { id }: { id: string }, context: AppointmentsContext) =>
          appointmentNodes.Appointment(idOf('Appointment', id) ?? '', context),
        nodes: (_: unknown, { ids }: { ids: readonly string[] }, context: AppointmentsContext) =>
          ids.map((id) => appointmentNodes.Appointment(idOf('Appointment', id) ?? '', context)),
      },
    },
  ],
});
const cursors = createCursors(createSealer([randomBytes(32)]));

let sandbox: Sandbox;
let replica: Awaited<ReturnType<typeof startReplica>>;
let users = 0;
let user: string;

beforeAll(async () => {
  sandbox = await startSandbox({ demo: false });
  replica = await startReplica(sandbox, await createTestFile());
});
beforeEach(() => {
  sandbox.faults.clear();
  user = `user${(users += 1)}`;
});
afterAll(async () => {
  await replica.stop();
  await sandbox.stop();
});

const everything: readonly Grant[] = ['APPOINTMENTS_READ', 'APPOINTMENTS_WRITE'];

async function ask(
  source: string,
  variables: Record<string, unknown> = {},
  { userId = user, grants = ['APPOINTMENTS_WRITE'] as readonly Grant[] } = {},
) {
  const caller = { sessionId: 's', userId, email: `${userId}@example.com`, grants: new Set(grants) };
  const contextValue = contextOf(caller, replica.read());
  const { data, errors } = await graphql({ schema, source, variableValues: variables, contextValue });
  return { data: data as Data, errors: errors?.map(({ extensions }) => extensions['code']) };
}

function contextOf(
  caller: AppointmentsContext['caller'],
  appointments: AppointmentsContext['appointments'],
): AppointmentsContext {
  return { caller, bookings: replica.bookings, appointments, cursors, signal: new LightAbortController() };
}

const create = `mutation ($input: CreateAppointmentInput!) { createAppointment(input: $input) {
  appointment { __typename id upstreamId status start end bookedAt bookedBy confirmation
    participants { actor { reference resourceType resourceId } status } }
  appointmentEdge { cursor node { id } } errors { code path } } }`;
const list = `query ($first: Int, $after: String, $last: Int, $before: String, $filter: AppointmentFilter) {
  appointments(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
    nodes { start } edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;

const patient = { actor: { reference: 'Patient/42' }, status: 'ACCEPTED' };
const input = {
  status: 'BOOKED',
  start: '2026-11-21T09:30:00+01:00',
  end: '2026-11-21T10:00:00+01:00',
  participants: [patient],
};

/** Books appointments that start at these hours of a day (UTC), in this order. */
async function bookAt(hours: readonly number[], more: object = {}, userId = user): Promise<void> {
  for (const hour of hours) {
    const start = `2027-01-01T${String(hour).padStart(2, '0')}:00:00Z`;
    await ask(create, { input: { ...input, start, end: start, ...more } }, { userId });
  }
}

const hoursOf = ({ appointments }: Data): readonly number[] =>
  appointments.nodes.map(({ start }: { start: string }) => Number(start.slice(11, 13)));

describe('createAppointment', () => {
  test('returns every field of the booking', async () => {
    const { data, errors } = await ask(create, { input });
    expect(errors).toBeUndefined();
    const { appointment, appointmentEdge } = data.createAppointment;
    expect(data.createAppointment).toEqual({
      appointment: {
        __typename: 'Appointment',
        id: expect.any(String),
        upstreamId: sandbox.appointments.booked.at(-1)!.id,
        status: 'BOOKED',
        start: input.start,
        end: input.end,
        bookedAt: expect.any(String),
        bookedBy: `${user}@example.com`,
        confirmation: 'CONFIRMED',
        participants: [
          {
            actor: { reference: 'Patient/42', resourceType: 'Patient', resourceId: '42' },
            status: 'ACCEPTED',
          },
        ],
      },
      appointmentEdge: { cursor: expect.any(String), node: { id: appointment.id } },
      errors: [],
    });
    const { data: listed } = await ask(list);
    expect(listed.appointments.edges).toEqual([{ cursor: appointmentEdge.cursor }]);
  });

  const noReferences = [
    'Patient/',
    '/42',
    '4/2',
    'Patient/4/2',
    'Patient/4 2',
    'Patient/42\n',
    ' Patient/42',
  ];
  const reference = (at: number) => ['participants', String(at), 'actor', 'reference'];
  test.each([
    [
      { ...input, start: '', end: '' },
      [
        ['REQUIRED', 'start'],
        ['REQUIRED', 'end'],
      ],
    ],
    [{ ...input, participants: [] }, [['REQUIRED', 'participants']]],
    [
      { ...input, start: 'tomorrow', end: '2026-02-30T10:00:00Z' },
      [
        ['INVALID', 'start'],
        ['INVALID', 'end'],
      ],
    ],
    [{ ...input, start: '2026-11-21T09:30:00' }, [['INVALID', 'start']]],
    [{ ...input, end: '2026-11-21T08:29:59.999Z' }, [['INVALID', 'end']]],
    [
      { ...input, participants: [{ actor: { reference: 'Practitioner/1' }, status: 'ACCEPTED' }] },
      [['REQUIRED', 'participants']],
    ],
    [
      {
        ...input,
        participants: [
          patient,
          { ...patient, actor: { reference: 'Patient' } },
          { ...patient, actor: { reference: '' } },
        ],
      },
      [
        ['INVALID', ...reference(1)],
        ['REQUIRED', ...reference(2)],
      ],
    ],
    [
      {
        ...input,
        participants: [
          patient,
          ...noReferences.map((text) => ({ actor: { reference: text }, status: 'ACCEPTED' })),
        ],
      },
      noReferences.map((_, at) => ['INVALID', ...reference(at + 1)]),
    ],
    [{ ...input, idempotencyKey: '' }, [['INVALID', 'idempotencyKey']]],
    [{ ...input, idempotencyKey: 'k'.repeat(256) }, [['INVALID', 'idempotencyKey']]],
    [{ ...input, idempotencyKey: '\u{1f511}'.repeat(256) }, [['INVALID', 'idempotencyKey']]],
  ])('reports all input errors before any call: case %#', async (given, expected) => {
    const before = postsOf(sandbox);
    const { data } = await ask(create, { input: given });
    expect(data.createAppointment).toEqual({
      appointment: null,
      appointmentEdge: null,
      errors: expected.map(([code, ...path]) => ({ code, path })),
    });
    expect(postsOf(sandbox)).toBe(before);
  });

  test('accepts an end equal to the start, in another offset', async () => {
    const { data } = await ask(create, { input: { ...input, end: '2026-11-21T08:30:00Z' } });
    expect(data.createAppointment.errors).toEqual([]);
  });

  test.each(['k', '\u{1f511}', '\n'])('accepts a key of 255 characters: %j', async (character) => {
    const { data } = await ask(create, { input: { ...input, idempotencyKey: character.repeat(255) } });
    expect(data.createAppointment.errors).toEqual([]);
  });

  test('reports refusals and conflicts as data', async () => {
    sandbox.faults.add({ service: 'appointments', times: 1, act: { kind: 'answer', status: 400 } });
    const refused = await ask(create, { input: { ...input, idempotencyKey: 'k' } });
    expect(refused.data.createAppointment.errors).toEqual([{ code: 'INVALID', path: [] }]);
    await ask(create, { input: { ...input, idempotencyKey: 'k' } });
    const { data } = await ask(create, { input: { ...input, status: 'NOSHOW', idempotencyKey: 'k' } });
    expect(data.createAppointment.errors).toEqual([{ code: 'CONFLICT', path: ['idempotencyKey'] }]);
  });

  test('reports an unknown outcome as UNCONFIRMED, without errors', async () => {
    sandbox.faults.add({ service: 'appointments', times: 1, act: { kind: 'answer', status: 503 } });
    const { data, errors } = await ask(create, { input });
    expect(errors).toBeUndefined();
    expect(data.createAppointment.errors).toEqual([]);
    expect(data.createAppointment.appointment).toMatchObject({
      confirmation: 'UNCONFIRMED',
      upstreamId: null,
    });
  });

  describe('three times in one mutation', () => {
    const fields = ['a', 'b', 'c'].map(
      (name) => `${name}: createAppointment(input: $input) { errors { code } }`,
    );
    const source = `mutation ($input: CreateAppointmentInput!) { ${fields.join(' ')} }`;

    /** Returns the alias and code of each error, and how many bookings were posted. */
    async function bookThrice(contextValue: AppointmentsContext) {
      const before = postsOf(sandbox);
      const { errors } = await graphql({ schema, source, variableValues: { input }, contextValue });
      const faults = errors?.map(({ path, extensions }) => [path?.[0], extensions['code']]);
      return [faults, postsOf(sandbox) - before];
    }

    function contextOfWriter() {
      const grants = new Set<Grant>(['APPOINTMENTS_WRITE']);
      return contextOf({ sessionId: 's', userId: user, email: 'a@example.com', grants }, replica.read());
    }

    const onlyTheFirst = [[['b', 'UPSTREAM_TIMEOUT']], 1];

    test('books nothing more once its client is gone', async () => {
      const signal = new LightAbortController();
      const booked = sandbox.appointments.booked.length;
      sandbox.faults.add({ service: 'appointments', act: { kind: 'delay', ms: 200 } });
      const booking = bookThrice({ ...contextOfWriter(), signal });
      await expect.poll(() => sandbox.calls.at(-1)?.path).toMatch(/appointments$/);
      signal.abort();
      expect(await booking).toEqual(onlyTheFirst);
      expect(sandbox.appointments.booked.length - booked).toBe(1);
    });

    test('books nothing more after a deadline that counts from the first booking', async () => {
      const late = new LightAbortController();
      let made: LightAbortController | undefined;
      sandbox.faults.add({ service: 'appointments', act: { kind: 'delay', ms: 200 } });
      const contextValue = Object.defineProperty(contextOfWriter(), 'signal', {
        get() {
          if (!made) setTimeout(() => late.abort(), 100);
          return (made ??= late);
        },
      });
      expect(await bookThrice(contextValue)).toEqual(onlyTheFirst);
    });
  });

  test('requires its grant', async () => {
    const { errors } = await ask(
      create,
      { input: { ...input, participants: [] } },
      { grants: ['APPOINTMENTS_READ'] },
    );
    expect(errors).toEqual(['FORBIDDEN']);
  });
});

describe('appointments', () => {
  test('are paged from either end, newest booking first', async () => {
    await bookAt([3, 1, 4, 15, 9]);
    const { data: one } = await ask(list, { first: 2 });
    expect(hoursOf(one)).toEqual([9, 15]);
    expect(one.appointments.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
    const { data: two } = await ask(list, { first: 3, after: one.appointments.pageInfo.endCursor });
    expect(hoursOf(two)).toEqual([4, 1, 3]);
    expect(two.appointments.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
    const { data: last } = await ask(list, { last: 2 });
    expect(hoursOf(last)).toEqual([1, 3]);
    const { data: back } = await ask(list, { last: 2, before: last.appointments.pageInfo.startCursor });
    expect(hoursOf(back)).toEqual([15, 4]);
    expect(back.appointments.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true });
  });

  test('are filtered by status, participant and start', async () => {
    await bookAt([8, 9]);
    const other = [patient, { actor: { reference: 'Practitioner/7' }, status: 'DECLINED' }];
    await bookAt([10, 11], { status: 'CANCELLED', participants: other });
    const filtered = async (filter: object) => hoursOf((await ask(list, { filter })).data);
    expect(await filtered({ status: 'CANCELLED' })).toEqual([11, 10]);
    expect(await filtered({ participant: 'Practitioner/7' })).toEqual([11, 10]);
    expect(await filtered({ participant: 'Practitioner/70' })).toEqual([]);
    expect(await filtered({ from: '2027-01-01T10:00:00+01:00', to: '2027-01-01T11:00:00Z' })).toEqual([
      10, 9,
    ]);
    expect(await filtered({ from: null, status: null, participant: 'Patient/42' })).toEqual([11, 10, 9, 8]);
  });

  test('are filtered by a start whose fraction has any length', async () => {
    const digits = '3'.repeat(5_000);
    const [before, start, after] = ['2', '3', '4'].map((digit) => `2027-01-01T09:00:00.${digit}${digits}1Z`);
    await ask(create, { input: { ...input, start, end: after } });
    const countOf = async (filter: object) => hoursOf((await ask(list, { filter })).data).length;
    const given = [
      { from: start, to: after },
      { from: before, to: start },
      { from: before },
      { from: after },
    ];
    expect(await Promise.all(given.map(countOf))).toEqual([1, 0, 1, 0]);
  });

  test("are the caller's own, or everybody's with the grant, in the list and through node", async () => {
    const { data: mine } = await ask(create, { input });
    const { id } = mine.createAppointment.appointment;
    const get = 'query ($id: ID!) { node(id: $id) { id } }';
    const stranger = { userId: `${user}-stranger` };
    expect((await ask(list, {}, stranger)).data.appointments.nodes).toEqual([]);
    expect((await ask(get, { id }, stranger)).data).toEqual({ node: null });
    expect((await ask(get, { id })).data).toEqual({ node: { id } });
    const reader = { ...stranger, grants: everything };
    expect((await ask(list, { first: 1 }, reader)).data.appointments.nodes).toHaveLength(1);
    expect((await ask(get, { id }, reader)).data).toEqual({ node: { id } });
  });

  test('refuse a cursor of another caller or filter', async () => {
    await bookAt([1, 2]);
    const { data } = await ask(list, { first: 1 });
    const after = data.appointments.pageInfo.endCursor as string;
    expect(hoursOf((await ask(list, { after, filter: { status: null } })).data)).toEqual([1]);
    expect((await ask(list, { after, filter: { status: 'BOOKED' } })).errors).toEqual(['CURSOR_INVALID']);
    expect((await ask(list, { after }, { userId: 'another' })).errors).toEqual(['CURSOR_INVALID']);
    expect((await ask(list, { first: 1, last: 1 })).errors).toEqual(['BAD_USER_INPUT']);
  });

  test('are read one page per turn of the event loop, until the operation ends', async () => {
    const signal = new LightAbortController();
    let pages = 0;
    const reads = new Reads(signal);
    const next = reads.next.bind(reads);
    reads.next = (read) =>
      next(() => {
        pages += 1;
        return read();
      });
    const caller = { sessionId: 's', userId: user, email: 'a@example.com', grants: new Set(everything) };
    const contextValue = contextOf(caller, new Appointments(replica.database, reads));
    const fields = Array.from({ length: 50 }, (_, at) => `a${at}: appointments { nodes { id } }`);
    const answering = graphql({ schema, source: `{ ${fields.join(' ')} }`, contextValue });
    while (pages < 3) await setImmediate();
    signal.abort();
    const { errors } = await answering;
    expect(errors?.map(({ extensions }) => extensions['code'])).toEqual(['QUERY_TOO_COMPLEX']);
    expect(pages).toBeLessThan(10);
  });

  test('are refused beyond what one operation may read', async () => {
    const start = `2027-01-01T09:00:00.${'3'.repeat(400_000)}Z`;
    const end = '2027-01-01T10:00:00Z';
    await bookAt([1, 2, 3], { start, end });
    const caller = { sessionId: 's', userId: user, email: 'a@example.com', grants: new Set<Grant>() };
    /** The codes of the errors within one MiB, and how many statements were run. */
    const run = async (source: string, variableValues: Record<string, unknown> = {}) => {
      const { database, statements } = recordStatements(replica.database);
      const reads = new Reads(new LightAbortController(), 1);
      const contextValue = contextOf(caller, new Appointments(database, reads));
      const { errors } = await graphql({ schema, source, variableValues, contextValue });
      const codes = new Set(errors?.map(({ extensions }) => extensions['code']));
      return [[...codes], statements.length];
    };
    const { data } = await ask('{ appointments { nodes { id } } }');
    const ids: readonly string[] = data.appointments.nodes.map(({ id }: { id: string }) => id);
    const [id] = ids;
    const one = '{ appointments(first: 1) { nodes { id } } }';
    const aliases = Array.from({ length: 5 }, (_, at) => `a${at}: node(id: $id) { id }`).join(' ');
    const nodes = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';
    expect(await run(one)).toEqual([[], 1]);
    expect(await run('{ appointments(first: 3) { nodes { id } } }')).toEqual([['QUERY_TOO_COMPLEX'], 1]);
    expect(await run(`query ($id: ID!) { ${aliases} }`, { id })).toEqual([[], 1]);
    expect(await run(nodes, { ids: Array.from({ length: 100 }, () => id) })).toEqual([[], 1]);
    expect(await run(nodes, { ids })).toEqual([['QUERY_TOO_COMPLEX'], 1]);
  });

  test('require a session', async () => {
    const contextValue = contextOf(null, replica.read());
    const { errors } = await graphql({ schema, source: list, contextValue });
    expect(errors?.map(({ extensions }) => extensions['code'])).toEqual(['UNAUTHENTICATED']);
  });
});
