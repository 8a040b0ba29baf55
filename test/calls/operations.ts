import { toGlobalId } from '../../src/graphql/global-id.js';

/** What was read beforehand, for the variables of the operations. */
export interface Before {
  /** The ids of twenty notes on one page, newest first. */
  readonly seen: readonly string[];
  readonly endCursor: string;
  /** Twenty notes that the measured session has not read. */
  readonly unseen: readonly string[];
  readonly tag: string;
  readonly user: string;
  readonly shipment: string;
}

/** An operation, the calls that it makes, sorted, and why it needs all of them. */
export interface Costed {
  readonly operation: string;
  readonly document: string;
  readonly variables?: (before: Before) => object;
  readonly calls: readonly string[];
  readonly why: string;
}

const booking = `mutation ($key: String) {
  createAppointment(input: {
    idempotencyKey: $key, status: BOOKED, start: "2027-01-01T09:00:00Z", end: "2027-01-01T09:30:00Z",
    participants: [{ actor: { reference: "Patient/42" }, status: ACCEPTED }]
  }) { appointment { confirmation } appointmentEdge { cursor } errors { code } }
}`;
const firstNote = ({ seen }: Before) => ({ id: seen[0] });
const nodesOf =
  'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename ... on Note { title tags { name } } } }';

/** Run one after the other, in this order and in one session. */
export const operations: readonly Costed[] = [
  {
    operation: '`viewer`',
    document: '{ viewer { name } again: viewer { email grants } }',
    calls: ['GET /me'],
    why: 'The answer must be current. It also shows whether the notes token is still valid.',
  },
  {
    operation: '`notes(first: 20)` with the names of their tags',
    document: '{ notes(first: 20) { nodes { title content tags { name } } pageInfo { hasNextPage } } }',
    calls: ['GET /notes'],
    why: 'Answers are not cached: another client may have changed the notes.',
  },
  {
    operation: 'the next page of these',
    document: 'query ($endCursor: String) { notes(first: 20, after: $endCursor) { nodes { title } } }',
    variables: ({ endCursor }) => ({ endCursor }),
    calls: ['GET /notes'],
    why: 'The cursor names the place in the service’s list, so no earlier page is read again.',
  },
  {
    operation: '`notes(first: 20)` with the counts of their tags',
    document: '{ notes(first: 20) { nodes { title tags { name count } } } }',
    calls: ['GET /notes', 'GET /tags'],
    why: 'A note has only the names of its tags. One list has all counts; both are read at the same time.',
  },
  {
    operation: '`tags` and `tag(name)`',
    document: 'query ($tag: String!) { tags { nodes { name count } } tag(name: $tag) { name count } }',
    variables: ({ tag }) => ({ tag }),
    calls: ['GET /tags'],
    why: 'The service has no call for one tag. The list of all tags serves both fields.',
  },
  {
    operation: '`tag(name)` with its notes',
    document: 'query ($tag: String!) { tag(name: $tag) { name notes(first: 5) { nodes { title } } } }',
    variables: ({ tag }) => ({ tag }),
    calls: ['GET /notes', 'GET /tags'],
    why: 'The list of tags shows that the tag exists, and its spelling. The list of notes has its notes.',
  },
  {
    operation: 'three `tags`, each with its notes',
    document: '{ tags(first: 3) { nodes { name notes(first: 5) { nodes { title } } } } }',
    calls: ['GET /notes', 'GET /notes', 'GET /notes', 'GET /tags'],
    why: 'The service filters its list by one tag only.',
  },
  {
    operation: '`nodes` of 20 notes that were listed',
    document: nodesOf,
    variables: ({ seen }) => ({ ids: seen }),
    calls: ['GET /notes'],
    why: 'The service has no call for one note. The page where these were last seen has all of them.',
  },
  {
    operation: '`nodes` of 20 notes that were not listed',
    document: nodesOf,
    variables: ({ unseen }) => ({ ids: unseen }),
    calls: ['GET /notes'],
    why: 'All are looked for together, 100 notes a call, until all are found.',
  },
  {
    operation: '`nodes` of four types',
    document: 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename } }',
    variables: ({ seen, tag, user, shipment }) => ({
      ids: [seen[0], toGlobalId('Tag', tag.toLowerCase()), user, shipment, 'none'],
    }),
    calls: ['GET /me', 'GET /notes', 'GET /tags'],
    why: 'The service has a call for each of notes, tags and the user. Shipments are in the gateway’s database.',
  },
  {
    operation: '`createNote` with its `noteEdge`',
    document: `mutation { createNote(input: { title: "New", content: "Words.", tags: ["work"], isPinned: false }) {
      note { title tags { name } } noteEdge { cursor node { id } } errors { code } } }`,
    calls: ['POST /notes'],
    why: 'The service answers with the note. The gateway makes the edge’s cursor from it.',
  },
  {
    operation: '`updateNote`',
    document:
      'mutation ($id: ID!) { updateNote(input: { id: $id, title: "Else" }) { note { title content } errors { code } } }',
    variables: firstNote,
    calls: ['PATCH /notes/:id'],
    why: 'The service changes only what is sent, and answers with the whole note.',
  },
  {
    operation: '`shareNote`',
    document: `mutation ($id: ID!) {
      shareNote(input: { id: $id, email: "a@example.com", permission: READ }) { sharedNoteId errors { code } } }`,
    variables: firstNote,
    calls: ['POST /notes/:id/share'],
    why: 'This call also shows whether the note exists.',
  },
  {
    operation: 'two mutations in one document',
    document: `mutation ($id: ID!) {
      one: updateNote(input: { id: $id, title: "One" }) { errors { code } }
      two: deleteNote(input: { id: $id }) { deletedNoteId errors { code } } }`,
    variables: firstNote,
    calls: ['DELETE /notes/:id', 'PATCH /notes/:id'],
    why: 'Each mutation is one call, one after the other.',
  },
  {
    operation: 'a mutation with invalid input',
    document: `mutation { updateNote(input: { id: "none", title: null }) { errors { code } }
      shareNote(input: { id: "none", email: "x", permission: READ }) { errors { code } } }`,
    calls: [],
    why: 'The gateway checks what the service’s documentation forbids.',
  },
  {
    operation: '`createAppointment`, the first one of all',
    document: booking,
    calls: ['POST /appointments', 'POST /oauth/token'],
    why: 'A booking needs a token, which is first requested now.',
  },
  {
    operation: '`createAppointment`, the next one',
    document: booking,
    variables: () => ({ key: 'one' }),
    calls: ['POST /appointments'],
    why: 'All callers and replicas use this token until it expires.',
  },
  {
    operation: '`createAppointment` with the same key again',
    document: booking,
    variables: () => ({ key: 'one' }),
    calls: [],
    why: 'The first answer is stored.',
  },
  {
    operation: '`shipments`, `payments`, `appointments`, `liveCursor`',
    document: `{ liveCursor shipments { nodes { stage events { nodes { type } } } }
      payments { nodes { status events { nodes { type } } } } appointments { nodes { start bookedBy } } }`,
    calls: [],
    why: 'All of this is in the gateway’s database.',
  },
  {
    operation: '`rotatePaymentWebhookSecret`',
    document: `mutation {
      rotatePaymentWebhookSecret(input: { endpointId: "pe_demo" }) { rotatedAt errors { code } } }`,
    calls: ['POST /webhooks/:id/rotate-secret'],
    why: 'The service makes the secret, and shows it only in this answer.',
  },
  {
    operation: '`signIn`',
    document: `mutation { signIn(input: { email: "demo@example.com", password: "demo-password" }) {
      sessionToken viewer { name } errors { code } } }`,
    calls: ['GET /me', 'POST /auth/token'],
    why: 'The token does not say whose it is. Grants and bookings need the user, whom `/me` returns.',
  },
  {
    operation: '`signOut`',
    document: 'mutation { signOut { signedOut errors { code } } }',
    calls: [],
    why: 'The service has no call to end a token. The gateway deletes its session.',
  },
];
