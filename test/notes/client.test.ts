import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createNotesClient, type NotesClient, type NotesSettings, SessionEnded } from '../../src/notes/client.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.js';
import { createTelemetry } from '../../src/telemetry.js';

const settings = {
  emailField: 'email',
  passwordField: 'password',
  tokenField: undefined,
  tokenLifetimeSeconds: 86_400,
};

let sandbox: Sandbox;
let notes: NotesClient;

function connect(other: Partial<NotesSettings> = {}): NotesClient {
  return createNotesClient({
    baseUrl: `${sandbox.url}/notes/v1`,
    ...settings,
    ...other,
    telemetry: createTelemetry('silent'),
    clock: sandbox.clock,
    timeoutMs: 500,
  });
}

async function signIn(client = notes): Promise<string> {
  const issued = await client.signIn('demo@example.com', 'demo-password');
  if (issued === 'WRONG_CREDENTIALS') throw new Error('The demo user cannot sign in.');
  return issued.token;
}

const callsTo = (path: string) => sandbox.calls.filter((call) => call.path.startsWith(path)).length;

beforeEach(async () => {
  sandbox = await startSandbox();
  notes = connect();
});

afterEach(async () => {
  await notes.stop();
  await sandbox.stop();
});

describe('the calls of apis/notes.md §4', () => {
  it('lists, creates, changes, shares and removes notes', async () => {
    const token = await signIn();
    const made = await notes.create(token, { title: 'Words', content: 'Many.', tags: ['a'], isPinned: true });
    expect(made).toMatchObject({ kind: 'Note', title: 'Words', isPinned: true, tags: [{ kind: 'Tag', name: 'a' }] });
    if ('refused' in made) return;
    const changed = await notes.update(token, made.upstreamId, { title: 'Fewer' });
    expect(changed).toMatchObject({ title: 'Fewer', content: 'Many.', isPinned: true });
    const share = { email: 'a@example.com', permission: 'read' } as const;
    expect(await notes.share(token, made.upstreamId, share)).toBeUndefined();
    expect(sandbox.notes.shares).toMatchObject([{ noteId: made.upstreamId, ...share }]);
    const page = await notes.list(token, { tag: 'a', pinned: true, limit: 5 });
    expect(page).toMatchObject({ notes: [changed] });
    expect(await notes.remove(token, made.upstreamId)).toBeUndefined();
    expect(await notes.remove(token, made.upstreamId)).toEqual({ refused: 404 });
  });
});
