import { sql, type RawBuilder } from 'kysely';
import { digest } from '../seal.js';
import type { Executor } from '../store/database.js';
import type { Store } from '../store/procedure.js';
import { insertRows, rowsOf, runTogether, type Columns } from '../store/rows.js';
import { keyText, keyTextIf } from '../store/text.js';
import type { Delivery } from './delivery.js';
import { createStates, selectStates, type Folds, type Placed, type States } from './fold.js';
import { placeText, witnessOf, type Place } from './place.js';
import { keepRenderings } from './renderings.js';

/** What became of a delivery: it is a new event; the same again; the same event with another body. */
export type Outcome = 'stored' | 'duplicate' | 'altered';

/** What one transaction did: an outcome for each delivery, and where the log ends now if it grew. */
export interface Commit {
  readonly outcomes: readonly Outcome[];
  readonly head: Place | undefined;
}

interface Known {
  readonly seq: number;
  readonly bodyDigest: string;
}

/** A delivery, with its id as a key and the digest of its body. */
interface Item {
  readonly delivery: Delivery;
  readonly eventKey: string;
  readonly bodyDigest: string;
}

type Fresh = Item & Placed;

/**
 * Takes deliveries into the log in one transaction, in their order. The lock of the head's row makes the order of
 * commits the order of numbers, without gaps: a reader past `seq` never misses a row that commits late. Every statement
 * is one for all rows, and they are few: on Postgres each is a way there and back.
 */
export async function commitDeliveries(
  { engine, kysely }: Store,
  folds: Folds,
  deliveries: readonly Delivery[],
): Promise<Commit> {
  const unknown = deliveries.find(({ family }) => !Object.hasOwn(folds, family));
  if (unknown) throw new Error(`The log has no fold for the family ${unknown.family}.`);
  const batch = deliveries.map(toItem);
  return kysely.transaction().execute(async (db) => {
    const head = await lockHead(db);
    const { known, states } = await findKept(engine, db, folds, batch);
    const { outcomes, fresh, altered } = classify(batch, known, head.seq);
    await keepRenderings(
      db,
      altered.filter(({ seq }) => seq > head.pruned),
    );
    const last = fresh.at(-1);
    if (!last) return { outcomes, head: undefined };
    const events = fresh.map((item) => toRow(item, states.fold(item)));
    const statements = [
      insertRows(engine, 'event_ids', idColumns, fresh.map(toIdRow)),
      insertRows(engine, 'events', eventColumns, events),
      ...states.save(),
      sql`update log_head set seq = ${last.seq} where id = 1`,
    ];
    const grown = placeOf(last);
    await runTogether(engine, db, statements, { channel: 'log', payload: placeText(grown) });
    return { outcomes, head: grown };
  });
}

function toItem(delivery: Delivery): Item {
  return { delivery, eventKey: keyText(delivery.eventId), bodyDigest: digest(delivery.body) };
}

/** An update, since it locks the row on both engines, and tells what the holder before has committed. */
function lockHead(db: Executor): Promise<{ readonly seq: number; readonly pruned: number }> {
  return db
    .updateTable('log_head')
    .set(({ ref }) => ({ seq: ref('seq') }))
    .where('id', '=', 1)
    .returning(['seq', 'pruned'])
    .executeTakeFirstOrThrow();
}

const keyOf = (family: string, eventKey: string) => `${family} ${eventKey}`;

interface KeptRow {
  readonly family: string;
  readonly key: string;
  /** Null where the row is an entity's state. */
  readonly seq: number | null;
  readonly text: string;
}

/** The ids that are known already, and the states of the entities: one statement for all. */
async function findKept(
  engine: Store['engine'],
  db: Executor,
  folds: Folds,
  batch: readonly Item[],
): Promise<{ readonly known: Map<string, Known>; readonly states: States }> {
  const states = createStates(engine, folds);
  const known = new Map<string, Known>();
  const { rows } = await sql<KeptRow>`${sql.join(
    [selectKnown(engine, batch), ...selectStates(engine, folds, batch)],
    sql` union all `,
  )}`.execute(db);
  for (const { family, key, seq, text } of rows)
    if (seq === null) states.put(family, key, text);
    else known.set(keyOf(family, key), { seq, bodyDigest: text });
  return { known, states };
}

function selectKnown(engine: Store['engine'], batch: readonly Item[]): RawBuilder<unknown> {
  const ids = batch.map(({ delivery: { family }, eventKey }) => ({ family, key: eventKey }));
  return sql`select given.family as family, given.key as key, ids.seq as seq, ids.body_digest as text
    from (${rowsOf(engine, { family: 'text', key: 'text' }, ids)}) as given
    join event_ids as ids on ids.family = given.family and ids.event_id = given.key`;
}

/** Sorts new events, which get the numbers after `head`, from known ones; an id may repeat within the batch. */
function classify(batch: readonly Item[], known: Map<string, Known>, head: number) {
  const fresh: Fresh[] = [];
  const altered: Fresh[] = [];
  const outcomes = batch.map((item): Outcome => {
    const key = keyOf(item.delivery.family, item.eventKey);
    const first = known.get(key);
    if (!first) {
      const seq = head + fresh.length + 1;
      known.set(key, { seq, bodyDigest: item.bodyDigest });
      fresh.push({ ...item, seq });
      return 'stored';
    }
    if (first.bodyDigest === item.bodyDigest) return 'duplicate';
    altered.push({ ...item, seq: first.seq });
    return 'altered';
  });
  return { outcomes, fresh, altered };
}

const idColumns: Columns = { family: 'text', event_id: 'text', seq: 'integer', body_digest: 'text' };

function toIdRow({ seq, delivery: { family }, eventKey, bodyDigest }: Fresh) {
  return { family, event_id: eventKey, seq, body_digest: bodyDigest };
}

const eventColumns: Columns = {
  seq: 'integer',
  family: 'text',
  event_id: 'text',
  endpoint_id: 'text',
  type: 'text',
  api_version: 'text',
  entity_id: 'text',
  received_at: 'integer',
  body: 'text',
  event: 'text',
  entity: 'text',
};

function toRow({ seq, eventKey, delivery }: Fresh, entity: string | null) {
  const { family, endpointId, type, apiVersion, receivedAt, body, known } = delivery;
  return {
    seq,
    family,
    event_id: eventKey,
    endpoint_id: keyText(endpointId),
    type: keyText(type),
    api_version: keyTextIf(apiVersion),
    entity_id: known && keyText(known.entityId),
    received_at: Date.parse(receivedAt),
    body,
    event: known && JSON.stringify(known.event),
    entity,
  };
}

function placeOf({ seq, eventKey, delivery: { family, receivedAt } }: Fresh): Place {
  return { seq, witness: witnessOf(family, eventKey, Date.parse(receivedAt)) };
}
