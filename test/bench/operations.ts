import { deepStrictEqual } from 'node:assert/strict';
import { noteAt, profileOf, tags } from './upstream.js';

/** One measured query. */
export interface Query {
  readonly name: string;
  /** The JSON that is sent. */
  readonly body: string;
  /** How many calls to the notes service an answer takes. */
  readonly calls: number;
  /** What a client would have asked before: it refetches `nodes` after a list. */
  readonly first?: string;
  /** Throws if the data are wrong for this user. */
  expect(data: unknown, user: number): void;
  /** The closest query to a server that exposes the services' REST APIs, and adds to them only each note's counts. */
  readonly rest?: Pick<Query, 'body' | 'expect'>;
}

const noteFields = 'id upstreamId title content isPinned createdAt updatedAt';
const pageSize = 20;

const globalId = (type: string, id: string) => Buffer.from(JSON.stringify([type, id])).toString('base64url');
const toBody = (operationName: string, query: string, variables: object = {}) =>
  JSON.stringify({ operationName, query, variables });

function noteOf(place: number) {
  const { id, title, content, is_pinned, created_at, updated_at } = noteAt(place);
  return {
    id: globalId('Note', id),
    upstreamId: id,
    title,
    content,
    isPinned: is_pinned,
    createdAt: created_at,
    updatedAt: updated_at,
  };
}

const places = Array.from({ length: pageSize }, (_, place) => place);
const notes = places.map(noteOf);
const countedTags = (place: number) =>
  noteAt(place).tags.map((name) => tags.find((tag) => tag.name === name)!);
const countedNotes = places.map((place) => ({ ...noteOf(place), tags: countedTags(place) }));

function restNoteOf(place: number) {
  const { tags: _, ...note } = noteAt(place);
  return { ...note, countedTags: countedTags(place) };
}

function viewerOf(user: number) {
  const { id, email, name, created_at } = profileOf(user);
  return {
    id: globalId('User', id),
    upstreamId: id,
    email,
    name,
    createdAt: created_at,
    grants: ['APPOINTMENTS_READ', 'APPOINTMENTS_WRITE', 'SHIPMENTS_READ', 'PAYMENTS_READ', 'WEBHOOKS_ROTATE'],
  };
}

/** Compares an answer with the data of the upstream services, except for members that only the server can know. */
function equal(expected: object, ...free: readonly string[]): (data: unknown) => void {
  return (data) => {
    const text = JSON.stringify(data, (name, value: unknown) => (free.includes(name) ? typeof value : value));
    deepStrictEqual(JSON.parse(text), expected);
  };
}

const page = toBody(
  'Q2',
  `query Q2($first: Int!) {
    notes(first: $first) { nodes { ${noteFields} tags { name count } } pageInfo { hasNextPage endCursor } }
  }`,
  { first: pageSize },
);

const booking = {
  status: 'BOOKED',
  start: '2027-01-04T09:00:00+01:00',
  end: '2027-01-04T09:30:00+01:00',
  participants: [
    { actor: { reference: 'Patient/42' }, status: 'ACCEPTED' },
    { actor: { reference: 'Practitioner/7' }, status: 'TENTATIVE' },
  ],
};

const typename = {
  body: toBody('Q3', 'query Q3 { __typename }'),
  expect: equal({ __typename: 'Query' }),
};

/** The measured queries. */
export const queries: readonly Query[] = [
  {
    name: 'Q1',
    body: toBody('Q1', 'query Q1 { viewer { id upstreamId email name createdAt grants } }'),
    calls: 1,
    expect: (data, user) => deepStrictEqual(data, { viewer: viewerOf(user) }),
    rest: {
      body: toBody('Q1', 'query Q1 { me { id email name created_at } }'),
      expect: (data, user) => deepStrictEqual(data, { me: profileOf(user) }),
    },
  },
  {
    name: 'Q2',
    body: page,
    calls: 2,
    expect: equal(
      { notes: { nodes: countedNotes, pageInfo: { hasNextPage: true, endCursor: 'string' } } },
      'endCursor',
    ),
    rest: {
      body: toBody(
        'Q2',
        `query Q2($limit: Int!) {
          notes(limit: $limit) {
            data { id title content is_pinned created_at updated_at countedTags { name count } }
            next_cursor
          }
        }`,
        { limit: pageSize },
      ),
      expect: equal({ notes: { data: places.map(restNoteOf), next_cursor: '20' } }),
    },
  },
  { name: 'Q3', calls: 0, ...typename, rest: typename },
  {
    name: 'Q4',
    body: toBody(
      'Q4',
      `query Q4($ids: [ID!]!) { nodes(ids: $ids) { __typename ... on Note { ${noteFields} } } }`,
      { ids: notes.map(({ id }) => id) },
    ),
    calls: 1,
    first: page,
    expect: equal({ nodes: notes.map((note) => ({ __typename: 'Note', ...note })) }),
  },
  {
    name: 'Q5',
    body: toBody(
      'Q5',
      `mutation Q5($input: CreateAppointmentInput!) {
        createAppointment(input: $input) {
          appointment {
            id upstreamId status start end confirmation
            participants { actor { reference } status }
          }
          errors { code message path }
        }
      }`,
      { input: booking },
    ),
    calls: 0,
    expect: equal(
      {
        createAppointment: {
          appointment: { ...booking, id: 'string', upstreamId: 'string', confirmation: 'CONFIRMED' },
          errors: [],
        },
      },
      'id',
      'upstreamId',
    ),
  },
];

let users = 0;

/** Who asks, and the token that shows it. */
export interface Session {
  readonly user: number;
  readonly token: string;
}

/** A user who has not signed in yet. */
export const newUser = (): number => (users += 1);

/** Signs in at a server, by default each time as another user. */
export async function signIn(url: string, user = newUser()): Promise<Session> {
  const input = { email: profileOf(user).email, password: 'a password' };
  const query = 'mutation SignIn($input: SignInInput!) { signIn(input: $input) { sessionToken } }';
  const data = (await ask(url, toBody('SignIn', query, { input }))) as { signIn: { sessionToken: string } };
  return { user, token: data.signIn.sessionToken };
}

/** The header that shows who asks. */
export const bearer = ({ token }: Session) => ({ authorization: `Bearer ${token}` });

/** Sends this body and returns the answer's data; rejects if there are none, or errors. */
export async function ask(url: string, body: string, session?: Session): Promise<unknown> {
  const headers = {
    'content-type': 'application/json',
    connection: 'close', // the server may close a keep-alive connection at any time
    ...(session && bearer(session)),
  };
  const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body });
  const text = await response.text();
  const { data, errors } = response.ok ? (JSON.parse(text) as { data?: unknown; errors?: unknown }) : {};
  if (!response.ok || errors !== undefined || !data)
    throw new Error(`${url} answered ${response.status}: ${text.slice(0, 500)}`);
  return data;
}
