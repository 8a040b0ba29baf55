import { toGlobalId } from '../../src/graphql/relay/relay.js';

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
    why: 'The profile is not cached, and this call shows whether the notes token is still valid.',
  },
  {
    operation: '`notes(first: 20)` with the names of their tags',
    document: '{ notes(first: 20) { nodes { title content tags { name } } pageInfo { hasNextPage } } }',
    calls: ['GET /notes'],
    why: 'Answers are not cached, since another client may have written since.',
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
    why: 'A note has only the names of its tags; one list has all counts, and is read at the same time.',
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
    why: 'Only one list shows whether the tag exists and how it is spelled; only the other has its notes.',
  },
  {
    operation: 'three `tags`, each with its notes',
    document: '{ tags(first: 3) { nodes { name notes(first: 5) { nodes { title } } } } }',
    calls: ['GET /notes', 'GET /notes', 'GET /notes', 'GET /tags'],
    why: 'The service’s list can be filtered by one tag only.',
  },
  {
    operation: '`nodes` of 20 notes seen on a page',
    document: nodesOf,
    variables: ({ seen }) => ({ ids: seen }),
    calls: ['GET /notes'],
    why: 'No call reads a note by its id, but the page where they were last seen has all of them.',
  },
  {
    operation: '`nodes` of 20 notes never seen',
    document: nodesOf,
    variables: ({ unseen }) => ({ ids: unseen }),
    calls: ['GET /notes'],
    why: 'One scan looks for all of them, 100 notes per call, and ends once all are found.',
  },
  {
    operation: '`nodes` of four types',
    document: 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename } }',
    variables: ({ seen, tag, user, shipment }) => ({
      ids: [seen[0], toGlobalId('Tag', tag.toLowerCase()), user, shipment, 'none'],
    }),
    calls: ['GET /me', 'GET /notes', 'GET /tags'],
    why: 'Notes, tags and the user come from three different calls; shipments are in our own database.',
  },
  {
    operation: '`createNote` with its `noteEdge`',
    document: `mutation { createNote(input: { title: "New", content: "Words.", tags: ["work"], isPinned: false }) {
      note { title tags { name } } noteEdge { cursor node { id } } errors { code } } }`,
    calls: ['POST /notes'],
    why: 'The answer to the write is the note, from which the cursor of its edge is made.',
  },
  {
    operation: '`updateNote`',
    document:
      'mutation ($id: ID!) { updateNote(input: { id: $id, title: "Else" }) { note { title content } errors { code } } }',
    variables: firstNote,
    calls: ['PATCH /notes/:id'],
    why: 'The service changes what is sent and answers with the whole note, so nothing else is read.',
  },
  {
    operation: '`shareNote`',
    document: `mutation ($id: ID!) {
      shareNote(input: { id: $id, email: "a@example.com", permission: READ }) { sharedNoteId errors { code } } }`,
    variables: firstNote,
    calls: ['POST /notes/:id/share'],
    why: 'The same call shows whether the note exists.',
  },
  {
    operation: 'two mutations in one document',
    document: `mutation ($id: ID!) {
      one: updateNote(input: { id: $id, title: "One" }) { errors { code } }
      two: deleteNote(input: { id: $id }) { deletedNoteId errors { code } } }`,
    variables: firstNote,
    calls: ['DELETE /notes/:id', 'PATCH /notes/:id'],
    why: 'Each is a call of its own, one after the other.',
  },
  {
    operation: 'a mutation with invalid input',
    document: `mutation { updateNote(input: { id: "none", title: null }) { errors { code } }
      shareNote(input: { id: "none", email: "x", permission: READ }) { errors { code } } }`,
    calls: [],
    why: 'What the service’s documentation forbids is reported without a call.',
  },
  {
    operation: '`createAppointment`, the first one of all',
    document: booking,
    calls: ['POST /appointments', 'POST /oauth/token'],
    why: 'A booking needs a token, and none is requested before it is needed.',
  },
  {
    operation: '`createAppointment`, the next one',
    document: booking,
    variables: () => ({ key: 'one' }),
    calls: ['POST /appointments'],
    why: 'The token is kept for its lifetime, sealed, for all callers and replicas.',
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
    why: 'The service creates the secret, and returns it only in this answer.',
  },
  {
    operation: '`signIn`',
    document: `mutation { signIn(input: { email: "demo@example.com", password: "demo-password" }) {
      sessionToken viewer { name } errors { code } } }`,
    calls: ['GET /me', 'POST /auth/token'],
    why: 'The token call does not show whose token it is; grants and bookings depend on the user from `/me`.',
  },
  {
    operation: '`signOut`',
    document: 'mutation { signOut { signedOut errors { code } } }',
    calls: [],
    why: 'The service has no call to revoke a token; the session that holds it is deleted.',
  },
];
