import type { Resolvers } from '../generated/resolvers.js';
import { requireCaller } from '../graphql/caller.js';
import { GatewayError } from '../graphql/errors.js';
import { fromGlobalId, maxEntities } from '../graphql/relay/relay.js';
import { member } from '../lib/json.js';
import type { Context } from './context.js';
import { eachOrError, findByType, isNodeType, type Node } from './nodes.js';
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
        if (representations.length > maxEntities)
          throw new GatewayError(
            'BAD_USER_INPUT',
            `\`representations\` has ${representations.length} entities; at most ${maxEntities} are allowed.`,
          );
        return eachOrError(representations.map((one) => findEntity(one, context)));
      },
    },
  };
}

async function findEntity(representation: unknown, context: Context): Promise<Node | null> {
  const type = member(representation, '__typename');
  if (typeof type !== 'string' || !isNodeType(type))
    throw new GatewayError('BAD_USER_INPUT', 'A representation needs the `__typename` of an entity.');
  const id = member(representation, 'id');
  if (typeof id === 'string') {
    const named = fromGlobalId(id);
    return named?.type === type ? findByType(type, named.id, context) : null;
  }
  const key = serviceKeys[type];
  const serviceId = key === undefined ? undefined : member(representation, key);
  if (typeof serviceId === 'string') return findByType(type, serviceId, context);
  const names = key === undefined ? '`id`' : `\`id\` or \`${key}\``;
  throw new GatewayError('BAD_USER_INPUT', `A representation of ${type} needs ${names}, as a string.`);
}
