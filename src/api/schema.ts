import { readdirSync, readFileSync } from 'node:fs';
import { makeExecutableSchema } from '@graphql-tools/schema';
import { GraphQLError, Kind, type GraphQLScalarType, type GraphQLSchema, type ValueNode } from 'graphql';
import { GraphQLJSON, GraphQLSafeInt } from 'graphql-scalars';
import { appointmentNodes, appointmentsResolvers } from '../domains/appointments/resolvers.js';
import { requireCaller } from '../graphql/caller.js';
import type { Context } from './context.js';
import { GatewayError } from '../graphql/errors.js';
import type { Resolvers, ResolversTypes } from '../generated/resolvers.js';
import { instant } from '../lib/iso-instant.js';
import { noteNodes, notesResolvers } from '../domains/notes/resolvers.js';
import { paymentNodes, paymentsResolvers } from '../domains/payments/resolvers.js';
import { fromGlobalId, maxPageSize } from '../graphql/relay/relay.js';
import { sessionNodes, sessionsResolvers } from '../domains/sessions/resolvers.js';
import { shipmentNodes, shipmentsResolvers } from '../domains/shipments/resolvers.js';
import { webhookNodes, webhooksResolvers } from '../domains/webhooks/resolvers.js';

type Node = Awaited<ResolversTypes['Node']>;
type FindNode = (id: string, context: Context) => Promise<Node | null>;

/** How `node(id)` finds an object of each type, by the type's name; the domains supply these. */
const nodes = new Map<string, FindNode>(
  Object.entries({
    ...sessionNodes,
    ...noteNodes,
    ...appointmentNodes,
    ...shipmentNodes,
    ...paymentNodes,
    ...webhookNodes,
  }),
);

/** As many as a page may have: `server/cost-estimate.ts` bounds both alike when it estimates an operation's cost. */
const maxNodes = maxPageSize;

function findNode(globalId: string, context: Context): Promise<Node | null> {
  const named = fromGlobalId(globalId);
  return (named && nodes.get(named.type)?.(named.id, context)) ?? Promise.resolve(null);
}

function toDateTime(value: unknown, node: ValueNode | null = null): string {
  if (typeof value === 'string' && instant(value) !== undefined) return value;
  throw new GraphQLError(
    `DateTime must be an ISO 8601 date-time with an offset, such as 2026-11-21T09:30:00Z; got ${JSON.stringify(value)}.`,
    { nodes: node },
  );
}

type Conversions = Pick<GraphQLScalarType, 'serialize' | 'parseValue' | 'parseLiteral'>;

/** The conversions alone: the rest of the type would override its definition in `schema/base.graphql`. */
const conversionsOf = ({ serialize, parseValue, parseLiteral }: Conversions): Conversions => ({
  serialize,
  parseValue,
  parseLiteral,
});

const scalars = {
  /** Kept as written: a service's value is passed on unchecked, a client's is validated. */
  DateTime: {
    serialize: (value) => value,
    parseValue: (value) => toDateTime(value),
    parseLiteral: (node) => toDateTime(node.kind === Kind.STRING ? node.value : undefined, node),
  },
  SafeInt: conversionsOf(GraphQLSafeInt),
  JSON: conversionsOf(GraphQLJSON),
} satisfies Record<string, Conversions>;

const baseResolvers: Resolvers<Context> = {
  Node: { __resolveType: ({ kind }) => kind },
  Query: {
    node(_, { id }, context) {
      requireCaller(context);
      return findNode(id, context);
    },
    nodes(_, { ids }, context) {
      requireCaller(context);
      if (ids.length > maxNodes)
        throw new GatewayError(
          'BAD_USER_INPUT',
          `\`ids\` has ${ids.length} ids; at most ${maxNodes} are allowed.`,
        );
      const found = ids.map((id) => findNode(id, context));
      // Handled one by one only if one fails: GraphQL takes an Error in a list for the error of that item.
      const foundOrError = () =>
        Promise.all(found.map((one) => one.catch((error: unknown) => error as null)));
      return Promise.all(found).catch(foundOrError);
    },
    liveCursor(_, __, context) {
      requireCaller(context);
      return context.feed.cursor(context.logPlace);
    },
  },
};

/** Typed as a list so that a slice which the context lacks does not compile. */
const resolvers: readonly Resolvers<Context>[] = [
  baseResolvers,
  sessionsResolvers,
  notesResolvers,
  appointmentsResolvers,
  shipmentsResolvers,
  paymentsResolvers,
  webhooksResolvers,
];

/** The SDL files in `folder` and the domains' resolvers as one executable schema. */
export function createSchema(folder: URL): GraphQLSchema {
  const files = readdirSync(folder).filter((name) => name.endsWith('.graphql'));
  return makeExecutableSchema({
    typeDefs: files.toSorted().map((name) => readFileSync(new URL(name, folder), 'utf8')),
    resolvers: [...resolvers, scalars],
    resolverValidationOptions: { requireResolversToMatchSchema: 'error' },
  });
}
