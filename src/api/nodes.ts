import { appointmentNodes } from '../domains/appointments/resolvers.js';
import { noteNodes } from '../domains/notes/resolvers.js';
import { paymentNodes } from '../domains/payments/resolvers.js';
import { sessionNodes } from '../domains/sessions/resolvers.js';
import { shipmentNodes } from '../domains/shipments/resolvers.js';
import { webhookNodes } from '../domains/webhooks/resolvers.js';
import type { ResolversTypes } from '../generated/resolvers.js';
import { fromGlobalId } from '../graphql/global-id.js';
import { Pace, isTurnShort } from '../lib/async/pace.js';
import type { Context } from './context.js';

/** An object with a global id. */
export type Node = Awaited<ResolversTypes['Node']>;
type FindNode = (id: string, context: Context) => Promise<Node | null>;

/** How an object of each type is found, by the type's name; the domains supply these. */
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

/** Whether objects of this type have global ids. */
export function isNodeType(type: string): boolean {
  return nodes.has(type);
}

/** The object of this type with this id, as within a global id; null if the caller may not see it. */
export function findByType(type: string, id: string, context: Context): Promise<Node | null> {
  return nodes.get(type)?.(id, context) ?? Promise.resolve(null);
}

/** The object with this global id. */
export function findNode(globalId: string, context: Context): Promise<Node | null> {
  const named = fromGlobalId(globalId);
  return named ? findByType(named.type, named.id, context) : Promise.resolve(null);
}

/** So many objects an operation looks for at once: that is short, and its answer does not depend on how busy others are. */
const fewObjects = 100;
/** An operation may look for fifty thousand. */
const pace = new Pace(1);

/**
 * All that is found. Handled one by one only if one fails: GraphQL takes an Error in a list for the error of that item.
 * Rejects if more fail than an operation may ask for.
 */
export async function findEach<Key>(
  keys: readonly Key[],
  find: (key: Key) => Promise<Node | null>,
  { tally, caller }: Pick<Context, 'tally' | 'caller'>,
): Promise<readonly (Node | null)[]> {
  tally.objects += keys.length;
  if (tally.objects > fewObjects && !isTurnShort()) await pace.turn(caller?.userId);
  const found = keys.map(find);
  const foundOrError = async () => {
    const all = await Promise.all(found.map((one) => one.catch((error: unknown) => error as null)));
    const failed = all.filter((one: unknown) => one instanceof Error).length;
    return tally.fails(failed) ? Promise.all(found) : all;
  };
  return Promise.all(found).catch(foundOrError);
}
