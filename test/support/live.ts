import { randomBytes } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { makeExecutableSchema } from '@graphql-tools/schema';
// The same file that Node resolves 'graphql' to: Vite takes another, and two graphqls refuse each other's schemas.
import { execute, parse, validate, type GraphQLSchema } from 'graphql/index.js';
import type { Caller } from '../../src/graphql/caller.js';
import { systemClock } from '../../src/lib/clock.js';
import { createFeed, type Feed } from '../../src/events/feed/feed.js';
import { createLog } from '../../src/events/log/log.js';
import type { Grant, Resolvers } from '../../src/generated/resolvers.js';
import { recordDeliveries } from '../../src/api/webhook-families.js';
import { createCursors } from '../../src/graphql/cursors.js';
import { createSealer } from '../../src/lib/sealer.js';
import { Fanout } from '../../src/server/live/fanout.js';
import type { Outlet } from '../../src/events/feed/member.js';
import { CompiledDocuments } from '../../src/server/operation/compiled-documents.js';
import { OperationRules } from '../../src/server/operation/operation-rules.js';
import { openDatabase } from './database.js';
import { MemoryLedger } from '../../src/lib/memory/memory-ledger.js';
import { createTelemetry } from '../../src/lib/telemetry/telemetry.js';

/** The gateway's own log and feed, on the database at `url`. */
export async function openLogAndFeed(url: string) {
  const telemetry = createTelemetry('silent');
  const database = await openDatabase(url, telemetry);
  const cursors = createCursors(createSealer([randomBytes(32)]));
  const commit = await database.procedure(recordDeliveries, { unit: 'auto' });
  // Retention starts at once, and would delete what the tests date to years ago.
  const retentionDays = 36_500;
  const log = createLog({ database, commit, clock: systemClock, telemetry, retentionDays });
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

/** A signed-in caller with these grants. */
export function callerWith(grants: readonly Grant[], userId = 'usr_1'): Caller {
  return {
    sessionId: `session of ${userId}`,
    userId,
    email: `${userId}@example.com`,
    grants: new Set(grants),
  };
}

/** The whole schema with one domain's resolvers, and functions to query it. */
export function createTestClient<Context extends { readonly feed: Feed }>(resolvers: Resolvers<Context>) {
  const typeDefs = readdirSync('schema').map((file) => readFileSync(`schema/${file}`, 'utf8'));
  const schema = makeExecutableSchema({ typeDefs, resolvers });
  const telemetry = createTelemetry('silent');
  const { metrics } = telemetry;
  const ledger = new MemoryLedger(telemetry);
  const rules = new OperationRules({ schema, introspection: false, telemetry });
  const compiled = new CompiledDocuments(schema, rules.costs);

  /** Begins a subscription whose updates are sent so. */
  function begin(own: Context, source: string, variableValues: Variables, send: Outlet['send']) {
    const contextValue = {
      ...own,
      requestId: 'request',
      tally: { exceeded: false },
      detached: () => contextValue,
    };
    const { feed } = own;
    const outlet: Outlet = { send, hasRoom: () => true, resumeElsewhere: () => undefined };
    const document = read(schema, source);
    const subscription = {
      schema,
      document,
      contextValue,
      variableValues,
      outlet,
    };
    return new Fanout({ schema, rules, feed, metrics, ledger, compiled }).subscribe(subscription);
  }

  return {
    /** The answer to a query or a mutation. */
    ask: async (contextValue: Context, source: string, variableValues: Variables = {}): Promise<Answer> => {
      return toAnswer(
        await execute({ schema, document: read(schema, source), contextValue, variableValues }),
      );
    },
    /** The messages of a subscription, one after the other, until it ends; `return()` unsubscribes. */
    follow: async (
      contextValue: Context,
      source: string,
      variableValues: Variables = {},
    ): Promise<AsyncIterator<Answer, undefined>> => {
      const sent: string[] = [];
      let notify = () => {};
      const stream = await begin(contextValue, source, variableValues, (payloads, _, done) => {
        sent.push(...payloads);
        notify();
        done?.();
      });
      if (!(Symbol.asyncIterator in stream)) throw new Error(stream.errors?.join());
      const subscription = stream[Symbol.asyncIterator]() as AsyncIterableIterator<never, undefined>;
      return {
        async next() {
          const arrived = new Promise<void>((resolve) => (notify = resolve));
          if (sent.length === 0) await Promise.race([arrived, subscription.next()]);
          const payload = sent.shift();
          if (payload === undefined) return { done: true, value: undefined };
          return { done: false, value: toAnswer(JSON.parse(payload) as Result) };
        },
        return: () => subscription.return!(),
      };
    },
    /** The answer to a subscription that is refused. */
    refusal: async (
      contextValue: Context,
      source: string,
      variableValues: Variables = {},
    ): Promise<Answer> => {
      const result = await begin(contextValue, source, variableValues, () => undefined);
      if (Symbol.asyncIterator in result) throw new Error('There is a subscription.');
      return toAnswer(result);
    },
  };
}

type Variables = Readonly<Record<string, unknown>>;

/** Plain data, and the codes of the errors where there are any. */
export interface Answer {
  readonly data?: unknown;
  readonly codes?: readonly unknown[];
}

/** An `ExecutionResult`, or the same as JSON. */
interface Result {
  readonly data?: unknown;
  readonly errors?: readonly { readonly extensions?: Readonly<Record<string, unknown>> }[] | undefined;
}

function toAnswer({ data, errors }: Result): Answer {
  return {
    ...(data === undefined ? {} : { data: JSON.parse(JSON.stringify(data)) as unknown }),
    ...(errors ? { codes: errors.map(({ extensions }) => extensions?.['code']) } : {}),
  };
}

function read(schema: GraphQLSchema, source: string) {
  const document = parse(source);
  const faults = validate(schema, document);
  if (faults.length > 0) throw new AggregateError(faults, faults.join('\n'));
  return document;
}
