import {
  book,
  findSession,
  fromGlobalId,
  globalId,
  listNotes,
  listTags,
  me,
  sealFor,
  signIn,
} from './backend.js';

const grants = [
  'APPOINTMENTS_READ',
  'APPOINTMENTS_WRITE',
  'SHIPMENTS_READ',
  'PAYMENTS_READ',
  'WEBHOOKS_ROTATE',
];

const toNote = ({ id, title, content, is_pinned, created_at, updated_at }) => ({
  id: globalId('Note', id),
  upstreamId: id,
  title,
  content,
  isPinned: is_pinned,
  createdAt: created_at,
  updatedAt: updated_at,
});

/** For each operation a handler that does the same work by hand, without GraphQL. */
const handlers = {
  async SignIn(_, { input }) {
    return { signIn: { sessionToken: await signIn(input) } };
  },
  async Q1(session) {
    const { id, email, name, created_at } = await me(session);
    return {
      viewer: { id: globalId('User', id), upstreamId: id, email, name, createdAt: created_at, grants },
    };
  },
  async Q2(session, { first }) {
    const [page, tags] = await Promise.all([listNotes(session, first), listTags(session)]);
    const counts = new Map(tags.map(({ name, count }) => [name.toLowerCase(), count]));
    const nodes = page.data.map((note) => ({
      ...toNote(note),
      tags: note.tags.map((name) => ({ name, count: counts.get(name.toLowerCase()) ?? 0 })),
    }));
    const { next_cursor: next } = page;
    const pageInfo = { hasNextPage: next !== null, endCursor: next && sealFor(session, next) };
    return { notes: { nodes, pageInfo } };
  },
  async Q3() {
    return { __typename: 'Query' };
  },
  async Q4(session, { ids }) {
    const { data } = await listNotes(session, 20);
    const notes = new Map(data.map((note) => [note.id, note]));
    return {
      nodes: ids.map((id) => {
        const note = notes.get(fromGlobalId(id)[1]);
        return note ? { __typename: 'Note', ...toNote(note) } : null;
      }),
    };
  },
  async Q5(session, { input }) {
    const { id, ...appointment } = await book(session, input);
    return {
      createAppointment: { appointment: { id: globalId('Appointment', id), ...appointment }, errors: [] },
    };
  },
};

/** Answers an operation, which is told by its name; `more` are handlers besides. */
export async function answerOperation({ headers }, body, more = {}) {
  const { operationName, variables } = JSON.parse(body.toString());
  const session = findSession(headers.authorization);
  if (!session && operationName !== 'SignIn') return { status: 401, body: '{}' };
  const data = await (handlers[operationName] ?? more[operationName])(session, variables);
  return { body: JSON.stringify({ data }) };
}
