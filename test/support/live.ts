import { randomBytes } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { makeExecutableSchema } from '@graphql-tools/schema';
// The very file that Node takes for 'graphql': Vite would take another, and two graphqls refuse each other's schemas.
import {
  execute,
  parse,
  subscribe,
  validate,
  type ExecutionResult,
  type GraphQLSchema,
} from 'graphql/index.js';
import type { Caller } from '../../src/caller.js';
import { systemClock } from '../../src/clock.js';
import { createFeed } from '../../src/events/feed.js';
import { createLog } from '../../src/events/log.js';
import type { Grant, Resolvers } from '../../src/generated/resolvers.js';
import { filterMap } from '../../src/iterate.js';
import { procedure as recording } from '../../src/recording.js';
import { createCursors } from '../../src/relay.js';
import { createSealer } from '../../src/seal.js';
import { openDatabase } from '../../src/store/database.js';
import { createTelemetry } from '../../src/telemetry.js';

/** The product's log, and its feed, on the database at `url`. */
export async function openLive(url: string) {
  const telemetry = createTelemetry('silent');
  const database = await openDatabase(url, telemetry);
  const cursors = createCursors(createSealer([randomBytes(32)]));
  const commit = await database.procedure(recording, { unit: 'auto' });
  const log = createLog({ database, commit, clock: systemClock, telemetry, retentionDays: 90 });
  const feed = await createFeed({ log, database, cursors, telemetry });
  return {
    database,
    log,
    feed,
    cursors,
    async stop() {
      feed.stop();
      await log.stop();
      await database.stop();
    },
  };
}

/** Somebody signed in who has these grants. */
export function callerWith(grants: readonly Grant[], userId = 'usr_1'): Caller {
  return {
    sessionId: `session of ${userId}`,
    userId,
    email: `${userId}@example.com`,
    grants: new Set(grants),
  };
}

/** The whole schema with one domain's resolvers, and ways to ask it. */
export function createAsking<Context>(resolvers: Resolvers<Context>) {
  const typeDefs = readdirSync('schema').map((file) => readFileSync(`schema/${file}`, 'utf8'));
  const schema = makeExecutableSchema({ typeDefs, resolvers });
  const begin = (contextValue: Context, source: string, variableValues: Variables) =>
    subscribe({ schema, document: read(schema, source), contextValue, variableValues });
  return {
    /** The answer to a query or a mutation. */
    ask: async (contextValue: Context, source: string, variableValues: Variables = {}): Promise<Answer> => {
      return toAnswer(
        await execute({ schema, document: read(schema, source), contextValue, variableValues }),
      );
    },
    /** The messages of a subscription. */
    follow: async (contextValue: Context, source: string, variableValues: Variables = {}) => {
      const messages = await begin(contextValue, source, variableValues);
      if (!(Symbol.asyncIterator in messages)) throw new Error(messages.errors?.join());
      return filterMap(messages, toAnswer);
    },
    /** Why there is no subscription. */
    refusal: async (
      contextValue: Context,
      source: string,
      variableValues: Variables = {},
    ): Promise<Answer> => {
      const messages = await begin(contextValue, source, variableValues);
      if (Symbol.asyncIterator in messages) throw new Error('There is a subscription.');
      return toAnswer(messages);
    },
  };
}

type Variables = Readonly<Record<string, unknown>>;

/** Plain data, and the codes of the errors where there are any. */
export interface Answer {
  readonly data?: unknown;
  readonly codes?: readonly unknown[];
}

function toAnswer({ data, errors }: ExecutionResult): Answer {
  return {
    ...(data === undefined ? {} : { data: JSON.parse(JSON.stringify(data)) as unknown }),
    ...(errors ? { codes: errors.map(({ extensions }) => extensions['code']) } : {}),
  };
}

function read(schema: GraphQLSchema, source: string) {
  const document = parse(source);
  const faults = validate(schema, document);
  if (faults.length > 0) throw new AggregateError(faults, faults.join('\n'));
  return document;
}
