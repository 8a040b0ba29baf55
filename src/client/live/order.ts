/** What is known of a shipment or payment: its fields, of which these decide whether and where a list has it. */
export interface Entity {
  readonly id: string;
  readonly revision: number;
  readonly updatedAt: string;
  readonly [field: string]: unknown;
}

/** A filter of a list: each member that is given must be equal. */
export type Filter = Readonly<Record<string, unknown>> | null | undefined;

/** Whether all is known of an entity by which a list with this filter has it, or not. */
export function isPlaceable(filter: Filter, entity: Entity): boolean {
  const given = Object.entries(filter ?? {}).flatMap(([field, value]) => (value == null ? [] : field));
  return ['id', 'revision', 'updatedAt', ...given].every((field) => field in entity);
}

/** Whether a list with this filter has the entity, as far as its fields are known: what is not selected excludes nothing. */
export function matches(filter: Filter, entity: Entity): boolean {
  return Object.entries(filter ?? {}).every(
    ([field, value]) => value == null || entity[field] === undefined || entity[field] === value,
  );
}

const dateTime =
  /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d+))? ?(?:Z|([+-]\d\d)(?::?(\d\d))?)?$/i;

/** A time as milliseconds and the fraction below a second, to any digit; undefined if it is written in another way. */
function instantOf(text: string): readonly [ms: number, fraction: string] | undefined {
  const [, day, time, fraction = '', hours, minutes = '00'] = dateTime.exec(text) ?? [];
  const ms = Date.parse(`${day}T${time}${hours ? `${hours}:${minutes}` : 'Z'}`);
  return Number.isNaN(ms) ? undefined : [ms, fraction.replace(/0+$/, '')];
}

/**
 * Compares two entities as the gateway's lists do: most recently updated first, then by the service's own id downwards.
 * 0 if a time is written in a way that is not known here: then they stay as they are.
 */
function compare(a: Entity, b: Entity): number {
  const [one, other] = [instantOf(a.updatedAt), instantOf(b.updatedAt)];
  if (!one || !other) return 0;
  if (one[0] !== other[0]) return other[0] - one[0];
  if (one[1] !== other[1]) return one[1] < other[1] ? 1 : -1;
  const [own, others] = [ownId(a), ownId(b)];
  if (own === others) return 0;
  return own < others ? 1 : -1;
}

function ownId(entity: Entity): string {
  return (entity['shipmentId'] ?? entity['paymentId'] ?? entity.id) as string;
}

/** Of two states of an entity the one with the greater revision. */
export function newer<State extends Entity>(known: State | undefined, state: State): State {
  return known && known.revision > state.revision ? known : state;
}

/** An entry of a list, as far as it is known: from its start to its last entity, with the place where that ends. */
export interface Stretch<State extends Entity> {
  readonly entities: readonly State[];
  /** Whether the gateway has more after them. */
  readonly hasMore: boolean;
  /** The last entity as the gateway gave it: what sorts after it belongs to a later page. */
  readonly end: State | undefined;
}

/** A list after an entity changed: it goes to its place, or leaves. Nothing changes if its state is older. */
export function withEntity<State extends Entity>(
  list: Stretch<State>,
  filter: Filter,
  state: State,
): Stretch<State> {
  const known = list.entities.find(({ id }) => id === state.id);
  return known && known.revision >= state.revision ? list : replaced(list, filter, state);
}

/** A list after an entity went to its place, or left, whatever was known of it. */
export function replaced<State extends Entity>(
  list: Stretch<State>,
  filter: Filter,
  state: State,
): Stretch<State> {
  const others = list.entities.filter(({ id }) => id !== state.id);
  const isKnown = others.length < list.entities.length;
  const isLater = list.hasMore && (!list.end || compare(list.end, state) < 0);
  if (!matches(filter, state) || (isLater && !isKnown)) return isKnown ? { ...list, entities: others } : list;
  const last = others.at(-1);
  // Most often, as in each row of a next page, which may follow thousands.
  const isLast = !last || compare(last, state) <= 0;
  const place = isLast ? -1 : others.findIndex((other) => compare(state, other) < 0);
  const index = place < 0 ? others.length : place;
  return { ...list, entities: [...others.slice(0, index), state, ...others.slice(index)] };
}
