import type { Resolvers } from '../generated/resolvers.js';
import { requireCaller } from '../graphql/caller.js';
import { GatewayError } from '../graphql/errors.js';
import { fromGlobalId } from '../graphql/global-id.js';
import { checkListLength } from '../graphql/list-length.js';
import { maxEntities } from '../graphql/page-size.js';
import { member } from '../lib/json.js';
import type { Context } from './context.js';
import { findEach, findByType, isNodeType, type Node } from './nodes.js';
import { serviceKeys } from './schema-text.js';

/**
 * The resolvers of `schema/federation.graphql`. `sdl` returns the schema as a subgraph, which is part of introspection:
 * without that it is for signed-in callers only.
 */
export function federationResolvers(sdl: () => string, introspection: boolean): Resolvers<Context> {
  return {
    _Entity: { __resolveType: ({ kind }) => kind },
    Query: {
      _service(_, __, context) {
        if (!introspection) requireCaller(context);
        return { sdl: sdl() };
      },
      _entities(_, { representations }, context) {
        requireCaller(context);
        checkListLength('representations', representations, maxEntities);
        return findEach(representations, (one) => findEntity(one, context), context);
      },
    },
  };
}

// There may be a thousand of the same, each of which would take long to make.
const noType = new GatewayError('BAD_USER_INPUT', 'A representation needs the `__typename` of an entity.');
const noKeys = new Map<string, GatewayError>();

function noKey(type: string, key: string | undefined): GatewayError {
  const names = key === undefined ? '`id`' : `\`id\` or \`${key}\``;
  const known =
    noKeys.get(type) ??
    new GatewayError('BAD_USER_INPUT', `A representation of ${type} needs ${names}, as a string.`);
  noKeys.set(type, known);
  return known;
}

async function findEntity(representation: unknown, context: Context): Promise<Node | null> {
  const type = member(representation, '__typename');
  if (typeof type !== 'string' || !isNodeType(type)) throw noType;
  const id = member(representation, 'id');
  if (typeof id === 'string') {
    const named = fromGlobalId(id);
    return named?.type === type ? findByType(type, named.id, context) : null;
  }
  const key = serviceKeys[type];
  const serviceId = key === undefined ? undefined : member(representation, key);
  if (typeof serviceId === 'string') return findByType(type, serviceId, context);
  throw noKey(type, key);
}
