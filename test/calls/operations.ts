import { toGlobalId } from '../../src/relay.js';

/** What an operation is told of what went before it. */
export interface Before {
  /** The ids of twenty notes on one page, the latest of them first. */
  readonly seen: readonly string[];
  readonly endCursor: string;
  /** Twenty notes of which this process has shown nothing to the session. */
  readonly unseen: readonly string[];
  readonly tag: string;
  readonly user: string;
  readonly shipment: string;
}

/** One operation of the list, the calls that it makes in order of their names, and why it takes them all. */
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

/** Run in this order, in one session, each with nothing in flight beside it. */
export const operations: readonly Costed[] = [
  {
    operation: '`viewer`',
    document: '{ viewer { name } again: viewer { email grants } }',
    calls: ['GET /me'],
    why: 'The profile is not kept, and it is this call that tells whether the notes token still holds.',
  },
  {
    operation: '`notes(first: 20)` with the names of their tags',
    document: '{ notes(first: 20) { nodes { title content tags { name } } pageInfo { hasNextPage } } }',
    calls: ['GET /notes'],
    why: 'Nothing is kept once it was answered: another client may have written.',
  },
  {
    operation: 'the next page of it',
    document: 'query ($endCursor: String) { notes(first: 20, after: $endCursor) { nodes { title } } }',
    variables: ({ endCursor }) => ({ endCursor }),
    calls: ['GET /notes'],
    why: 'The cursor holds the place in the service’s own list, so no earlier page is read again.',
  },
  {
    operation: '`notes(first: 20)` with the counts of their tags',
    document: '{ notes(first: 20) { nodes { title tags { name count } } } }',
    calls: ['GET /notes', 'GET /tags'],
    why: 'A note has the names of its tags alone; one list has the counts of all, read beside the page.',
  },
  {
    operation: '`tags` and `tag(name)`',
    document: 'query ($tag: String!) { tags { nodes { name count } } tag(name: $tag) { name count } }',
    variables: ({ tag }) => ({ tag }),
    calls: ['GET /tags'],
    why: 'The service has no call for one tag; the list of all serves every field of the operation.',
  },
  {
    operation: '`tag(name)` with its notes',
    document: 'query ($tag: String!) { tag(name: $tag) { name notes(first: 5) { nodes { title } } } }',
    variables: ({ tag }) => ({ tag }),
    calls: ['GET /notes', 'GET /tags'],
    why: 'Whether the tag is there, and how it is spelled, only the one list tells; its notes only the other.',
  },
  {
    operation: 'three `tags`, each with its notes',
    document: '{ tags(first: 3) { nodes { name notes(first: 5) { nodes { title } } } } }',
    calls: ['GET /notes', 'GET /notes', 'GET /notes', 'GET /tags'],
    why: 'The service’s list takes one tag at a time.',
  },
  {
    operation: '`nodes` of 20 notes seen on a page',
    document: nodesOf,
    variables: ({ seen }) => ({ ids: seen }),
    calls: ['GET /notes'],
    why: 'No call reads a note by its id: the page where they were last seen has them all.',
  },
  {
    operation: '`nodes` of 20 notes never seen',
    document: nodesOf,
    variables: ({ unseen }) => ({ ids: unseen }),
    calls: ['GET /notes'],
    why: 'One scan looks for all of them, by 100 notes a call, and ends with the last that is found.',
  },
  {
    operation: '`nodes` of four types',
    document: 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename } }',
    variables: ({ seen, tag, user, shipment }) => ({
      ids: [seen[0], toGlobalId('Tag', tag.toLowerCase()), user, shipment, 'none'],
    }),
    calls: ['GET /me', 'GET /notes', 'GET /tags'],
    why: 'A note, a tag and a user are in three places of the service; a shipment is ours.',
  },
  {
    operation: '`createNote` with its `noteEdge`',
    document: `mutation { createNote(input: { title: "New", content: "Words.", tags: ["work"], isPinned: false }) {
      note { title tags { name } } noteEdge { cursor node { id } } errors { code } } }`,
    calls: ['POST /notes'],
    why: 'The answer to the write is the note; the cursor of its edge is made of that.',
  },
  {
    operation: '`updateNote`',
    document:
      'mutation ($id: ID!) { updateNote(input: { id: $id, title: "Else" }) { note { title content } errors { code } } }',
    variables: firstNote,
    calls: ['PATCH /notes/:id'],
    why: 'The service changes what is sent and answers with the whole note: nothing is read before or after.',
  },
  {
    operation: '`shareNote`',
    document: `mutation ($id: ID!) {
      shareNote(input: { id: $id, email: "a@example.com", permission: READ }) { sharedNoteId errors { code } } }`,
    variables: firstNote,
    calls: ['POST /notes/:id/share'],
    why: 'That the note is there is for the service to say, in the same call.',
  },
  {
    operation: 'two mutations in one document',
    document: `mutation ($id: ID!) {
      one: updateNote(input: { id: $id, title: "One" }) { errors { code } }
      two: deleteNote(input: { id: $id }) { deletedNoteId errors { code } } }`,
    variables: firstNote,
    calls: ['DELETE /notes/:id', 'PATCH /notes/:id'],
    why: 'Each is a write of its own, one after the other.',
  },
  {
    operation: 'a mutation whose input has faults',
    document: `mutation { createNote(input: { title: "No content" }) { errors { code } }
      shareNote(input: { id: "none", email: "x" }) { errors { code } } }`,
    calls: [],
    why: 'What the documents of the service forbid is told without asking it.',
  },
  {
    operation: '`createAppointment`, the first one of all',
    document: booking,
    calls: ['POST /appointments', 'POST /oauth/token'],
    why: 'There is no booking without a token, and none is asked for before it is needed.',
  },
  {
    operation: '`createAppointment`, the next one',
    document: booking,
    variables: () => ({ key: 'one' }),
    calls: ['POST /appointments'],
    why: 'The token is kept for its hour, sealed, for every caller and replica.',
  },
  {
    operation: '`createAppointment` with the same key again',
    document: booking,
    variables: () => ({ key: 'one' }),
    calls: [],
    why: 'The ledger has the first answer.',
  },
  {
    operation: '`shipments`, `payments`, `appointments`, `liveCursor`',
    document: `{ liveCursor shipments { nodes { stage events { nodes { type } } } }
      payments { nodes { status events { nodes { type } } } } appointments { nodes { start bookedBy } } }`,
    calls: [],
    why: 'All of it is in our own database.',
  },
  {
    operation: '`rotatePaymentWebhookSecret`',
    document: `mutation {
      rotatePaymentWebhookSecret(input: { endpointId: "pe_demo" }) { rotatedAt errors { code } } }`,
    calls: ['POST /webhooks/:id/rotate-secret'],
    why: 'The service makes the secret and tells it once, in this answer.',
  },
  {
    operation: '`signIn`',
    document: `mutation { signIn(input: { email: "demo@example.com", password: "demo-password" }) {
      sessionToken viewer { name } errors { code } } }`,
    calls: ['GET /me', 'POST /auth/token'],
    why: 'The token call does not show whose token it is; grants and bookings go by who `/me` says it is.',
  },
  {
    operation: '`signOut`',
    document: 'mutation { signOut { signedOut errors { code } } }',
    calls: [],
    why: 'The service has no call that ends a token: the session that holds it is forgotten.',
  },
];
