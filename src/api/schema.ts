import { makeExecutableSchema } from '@graphql-tools/schema';
import {
  buildASTSchema,
  GraphQLError,
  Kind,
  type GraphQLScalarType,
  type GraphQLSchema,
  type ValueNode,
} from 'graphql';
import { GraphQLJSON, GraphQLSafeInt } from 'graphql-scalars';
import { appointmentsResolvers } from '../domains/appointments/resolvers.js';
import { requireCaller } from '../graphql/caller.js';
import { checkListLength } from '../graphql/list-length.js';
import type { Context } from './context.js';
import { federationResolvers } from './federation.js';
import { findEach, findNode } from './nodes.js';
import { readSdl, subgraphSdl } from './schema-text.js';
import type { Resolvers } from '../generated/resolvers.js';
import { instant } from '../lib/iso-instant.js';
import { lazy } from '../lib/lazy.js';
import { notesResolvers } from '../domains/notes/resolvers.js';
import { paymentsResolvers } from '../domains/payments/resolvers.js';
import { maxPageSize } from '../graphql/page-size.js';
import { sessionsResolvers } from '../domains/sessions/resolvers.js';
import { shipmentsResolvers } from '../domains/shipments/resolvers.js';
import { webhooksResolvers } from '../domains/webhooks/resolvers.js';

/**
 * As many as a page may have: `server/operation/cost/cost-estimate.ts` bounds both alike when it estimates the cost of
 * an operation.
 */
const maxNodes = maxPageSize;

function toDateTime(value: unknown, node: ValueNode | null = null): string {
  if (typeof value === 'string' && instant(value) !== undefined) return value;
  throw new GraphQLError(
    'DateTime must be an ISO 8601 date-time with an offset, such as 2026-11-21T09:30:00Z.',
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
  _Any: conversionsOf(GraphQLJSON),
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
      checkListLength('ids', ids, maxNodes);
      return findEach(ids, (id) => findNode(id, context), context);
    },
    liveCursor(_, __, context) {
      requireCaller(context);
      return context.feed.cursor(context.logPosition);
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

/**
 * The SDL files in `folder` and the domains' resolvers as one executable schema. The files are not validated here,
 * which would hold up every start: they are part of the package, and a test validates them.
 */
export function createSchema(folder: URL, introspection = true): GraphQLSchema {
  const sdl = lazy(() => subgraphSdl(folder));
  return makeExecutableSchema({
    typeDefs: buildASTSchema(readSdl(folder), { assumeValidSDL: true }),
    resolvers: [...resolvers, federationResolvers(sdl, introspection), scalars],
    resolverValidationOptions: { requireResolversToMatchSchema: 'error' },
    updateResolversInPlace: true,
  });
}
