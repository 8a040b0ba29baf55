import type { Environment, HandleFieldPayload, RecordProxy, RecordSourceProxy } from 'relay-runtime';
import type { CoveredList } from '../live/cover.js';
import { edgeTypes, families } from '../live/coverage.js';
import { listKey, type Arguments } from '../live/root-fields.js';
import { replaced, type Entity, type Filter, type Stretch } from '../live/order.js';
import type { Family } from '../live/store.js';
import { relay } from './runtime.js';

/** A connection in the store that is a list of a family. */
interface LiveConnection {
  readonly family: Family;
  readonly filter: Filter;
  /** The last entity of the pages that were asked for, as the gateway gave it; undefined if there is no more. */
  readonly end: Entity | undefined;
}

const nodeTypes: Readonly<Record<Family, string>> = { shipments: 'Shipment', payments: 'Payment' };

/** The connections of an environment that are lists of shipments or payments, by their keys in the store. */
export class Connections {
  readonly #known = new Map<string, LiveConnection>();

  /** The handler of `@connection`: Relay's own, which also keeps in mind where each list ends. */
  readonly handler = {
    update: (store: RecordSourceProxy, payload: HandleFieldPayload): void => {
      relay.ConnectionHandler.update(store, payload);
      this.#note(store, payload);
    },
  };

  /** Puts an entity where it belongs in all connections of a list, or takes it out. */
  apply(environment: Environment, { family, filter }: CoveredList, entity: Entity): void {
    const concerned = [...this.#known].filter(
      ([, known]) => known.family === family && listKey(known) === listKey({ filter }),
    );
    environment.commitUpdate((store) => {
      write(store, family, entity);
      for (const [key, connection] of concerned) place(store, key, connection, [entity]);
    });
  }

  #note(store: RecordSourceProxy, { dataID, fieldKey, handleKey, args }: HandleFieldPayload): void {
    const root = store.getRoot();
    const family = families[fieldKey.replace(/\(.*/s, '')];
    const page = root.getLinkedRecord(fieldKey);
    const list = root.getLinkedRecord(handleKey);
    if (dataID !== root.getDataID() || !family || !page || !list) return;
    const { after, before, last, filter } = args as { readonly filter?: Filter } & Arguments;
    const known = this.#known.get(handleKey);
    // Relay leaves out a page that does not go on where the list ends; the start says nothing about the end.
    if (known && (before != null || (after != null && endCursorOf(page) !== endCursorOf(list)))) return;
    // A list that begins at the end lacks the newest rows.
    if (last != null) return void this.#known.delete(handleKey);
    const nodes = nodesOf(page).map(entityOf);
    const end = page.getLinkedRecord('pageInfo')?.getValue('hasNextPage') ? nodes.at(-1) : undefined;
    const connection = { family, filter, end };
    this.#known.set(handleKey, connection);
    // What an update has changed while the page was on its way goes to its place.
    if (after != null) place(store, handleKey, connection, nodes);
  }
}

function endCursorOf(connection: RecordProxy): unknown {
  return connection.getLinkedRecord('pageInfo')?.getValue('endCursor');
}

function edgesOf(connection: RecordProxy): readonly RecordProxy[] {
  return (connection.getLinkedRecords('edges') ?? []).filter((edge) => edge?.getLinkedRecord('node'));
}

function nodesOf(connection: RecordProxy): readonly RecordProxy[] {
  return edgesOf(connection).map((edge) => edge.getLinkedRecord('node'));
}

/** What decides where an entity is in a list. */
function entityOf(node: RecordProxy): Entity {
  const fields = ['id', 'revision', 'updatedAt', 'shipmentId', 'paymentId'];
  return Object.fromEntries(fields.map((name) => [name, node.getValue(name) ?? undefined])) as never;
}

/** Writes an entity's own fields into the store. */
function write(store: RecordSourceProxy, family: Family, entity: Entity): void {
  const record = store.get(entity.id) ?? store.create(entity.id, nodeTypes[family]);
  for (const [name, value] of Object.entries(entity))
    if (typeof value !== 'object' || value === null) record.setValue(value as string, name);
}

/** Puts entities where they belong in a connection, or takes them out. */
function place(
  store: RecordSourceProxy,
  key: string,
  { family, filter, end }: LiveConnection,
  entities: readonly Entity[],
): void {
  const connection = store.getRoot().getLinkedRecord(key);
  if (!connection) return;
  const edges = edgesOf(connection);
  const before = edges.map((edge) => entityOf(edge.getLinkedRecord('node')));
  let list: Stretch<Entity> = { entities: before, hasMore: end !== undefined, end };
  for (const entity of entities) {
    const node = store.get(entity.id);
    if (node)
      list = replaced(list, filter, { ...entityOf(node), ...filterFieldsOf(node, filter), ...entity });
  }
  const after = list.entities;
  if (after.length === before.length && after.every(({ id }, index) => id === before[index]!.id)) return;
  const byId = new Map(edges.map((edge) => [edge.getLinkedRecord('node')!.getDataID(), edge]));
  const create = (id: string) => {
    const edge = relay.ConnectionHandler.createEdge(store, connection, store.get(id)!, edgeTypes[family]);
    return edge.setValue('', 'cursor');
  };
  connection.setLinkedRecords(
    after.map(({ id }) => byId.get(id) ?? create(id)),
    'edges',
  );
}

function filterFieldsOf(node: RecordProxy, filter: Filter): object {
  return Object.fromEntries(Object.keys(filter ?? {}).map((name) => [name, node.getValue(name)]));
}
