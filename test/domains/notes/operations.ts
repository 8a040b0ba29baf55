import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { makeExecutableSchema } from '@graphql-tools/schema';
import { type ExecutionResult, graphql } from 'graphql';
import type { Caller } from '../../../src/graphql/caller.js';
import { createNotesAccess } from '../../../src/domains/notes/notes.js';
import { createNotesClient } from '../../../src/domains/notes/service/client.js';
import { noteNodes, type NotesContext, notesResolvers } from '../../../src/domains/notes/resolvers.js';
import { createCursors } from '../../../src/graphql/cursors.js';
import { fromGlobalId } from '../../../src/graphql/global-id.js';
import { startSandbox } from '../../../src/sandbox/sandbox.js';
import { createSealer } from '../../../src/lib/sealer.js';
import { LightAbortController } from '../../../src/lib/async/abort.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';

/** The data of an answer, whose shape a test knows from its query. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests pick members out of answers of every shape
export type Data = any;

const sdl = ['base', 'notes'].map((name) => readFileSync(`schema/${name}.graphql`, 'utf8'));

const node = (globalId: string, context: NotesContext) => {
  const { type, id } = fromGlobalId(globalId) ?? { type: '', id: '' };
  return type === 'Note' || type === 'Tag' ? noteNodes[type](id, context) : null;
};

const schema = makeExecutableSchema<NotesContext>({
  typeDefs: [...sdl, 'extend type Subscription { none: Int }'],
  resolvers: [
    notesResolvers,
    {
      Node: { __resolveType: ({ kind }: { kind: string }) => kind },
      Query: {
        node: (_: unknown, { id }: { id: string }, context: NotesContext) => node(id, context),
        nodes: (_: unknown, { ids }: { ids: string[] }, context: NotesContext) =>
          ids.map((id) => node(id, context)),
      },
    },
  ],
});

/** The notes service and a gateway's notes domain; `as` signs a user in, and returns a function that asks as them. */
export async function startNotes() {
  const sandbox = await startSandbox({ demo: false });
  const telemetry = createTelemetry('silent');
  const client = createNotesClient({
    baseUrl: `${sandbox.url}/notes/v1`,
    emailField: 'email',
    passwordField: 'password',
    tokenField: undefined,
    tokenLifetimeSeconds: 86_400,
    telemetry,
    clock: sandbox.clock,
  });
  const cursors = createCursors(createSealer([randomBytes(32)]));
  const open = createNotesAccess({ client, cursors, telemetry });

  async function as(email: string) {
    sandbox.notes.addUser({ email, password: 'secret', name: email });
    const issued = await client.signIn(email, 'secret', 'network');
    if (issued === 'WRONG_CREDENTIALS') throw new Error(`${email} cannot sign in.`);
    const caller: Caller = { sessionId: `session of ${email}`, userId: email, email, grants: new Set() };
    return async (source: string, variables: Record<string, unknown> = {}) => {
      const signal = new LightAbortController();
      const { userId, sessionId } = caller;
      const notes = open({ token: issued.token, sessionId, userId, signal });
      const contextValue: NotesContext = { caller, cursors, notes };
      const result: ExecutionResult = await graphql({
        schema,
        source,
        variableValues: variables,
        contextValue,
      });
      return {
        data: result.data as Data,
        errors: result.errors?.map(({ extensions }) => extensions['code']),
      };
    };
  }

  /** The calls that `run` makes, as `METHOD /path`. */
  async function callsOf(run: () => Promise<unknown>): Promise<readonly string[]> {
    const before = sandbox.calls.length;
    await run();
    return sandbox.calls.slice(before).map(({ method, path }) => `${method} ${path.replace(/\?$/, '')}`);
  }

  return {
    sandbox,
    as,
    callsOf,
    anonymous: (source: string) => graphql({ schema, source, contextValue: { caller: null } }),
    async stop() {
      await client.stop();
      await sandbox.stop();
    },
  };
}
