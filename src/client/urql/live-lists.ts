import { stringifyVariables } from '@urql/core';
import { Kind, type DocumentNode, type FieldNode } from 'graphql';
import type { CoveredList } from '../live/cover.js';
import { edgeTypes, isNext } from '../live/coverage.js';
import { withEntity, type Entity, type Filter, type Stretch } from '../live/order.js';
import { argumentsOf, keyOf, responseName, rootFields } from '../live/root-fields.js';

/** How many answers are remembered, for when their lists are shown again. */
const remembered = 500;

type Data = Readonly<Record<string, unknown>>;

interface Edge {
  readonly node: Entity;
}

interface Page {
  readonly __typename?: string;
  readonly edges?: readonly Edge[];
  readonly pageInfo?: Data;
}

/** The last answer to an operation. */
interface Answer {
  readonly key: number;
  readonly query: DocumentNode;
  /** The variables that do not page its live lists. */
  readonly others: string;
  readonly data: Data;
}

/** An operation as it was asked. */
export interface Asked {
  readonly key: number;
  readonly query: DocumentNode;
  readonly variables: object | void;
}

/** Whether an operation asks for lists that can be kept live: for `liveCursor` beside `shipments` or `payments`. */
export function hasLiveList(query: DocumentNode): boolean {
  return liveFields(query).length > 0;
}

const fieldsOf = new WeakMap<DocumentNode, readonly FieldNode[]>();

function liveFields(query: DocumentNode): readonly FieldNode[] {
  const fields = fieldsOf.get(query) ?? readLiveFields(query);
  fieldsOf.set(query, fields);
  return fields;
}

function readLiveFields(query: DocumentNode): readonly FieldNode[] {
  const fields = rootFields(query);
  const isLive = fields.some((field) => responseName(field) === 'liveCursor');
  return isLive ? fields.filter(({ name }) => name.value in edgeTypes) : [];
}

/** The variables with which an operation asks for the beginning of its live lists, whatever page it is for. */
export function fromBeginning(query: DocumentNode, variables: object): object {
  return withoutArguments(query, variables, ['after']);
}

/** The variables with null for those by which live lists are given arguments of these names. */
function withoutArguments(query: DocumentNode, variables: object, names: readonly string[]): object {
  const left = liveFields(query).flatMap(({ arguments: given = [] }) =>
    given.flatMap(({ name, value }) =>
      names.includes(name.value) && value.kind === Kind.VARIABLE ? [[value.name.value, null]] : [],
    ),
  );
  return { ...variables, ...(Object.fromEntries(left) as object) };
}

function unpaged({ query, variables }: Asked): string {
  return stringifyVariables(withoutArguments(query, variables ?? {}, ['after', 'first']));
}

/**
 * The live lists of a client, each with its pages as one: what goes on after the end of a list is added to it, and every
 * operation that shows the list, with whatever page it asks for, has all of it.
 */
export class LiveLists {
  readonly #lists = new Map<string, Page>();
  readonly #answers = new Map<number, Answer>();

  /**
   * Takes an answer over; a page that does not go on where its list ends is left out. Returns which lists have another end
   * now, so that further pages of them may be asked for. A list that begins anew only because a further page of another was
   * asked for is not among them: that would begin the other anew in turn, and so on without end.
   */
  take(asked: Asked, data: Data): ReadonlySet<string> {
    const { key, query, variables } = asked;
    const fields = liveFields(query).map(
      (field) => [field, argumentsOf(query, field, variables ?? {})] as const,
    );
    const isFurther = fields.some(([, args]) => hasCursor(args));
    const moved = new Set<string>();
    for (const [field, args] of fields) {
      const page = data[responseName(field)] as Page | null | undefined;
      if (!page?.edges) continue;
      const list = keyOf(field, args);
      const known = this.#lists.get(list);
      const now = joined(known, page, args);
      this.#lists.set(list, now);
      if (now !== known && hasCursor(args) === isFurther) moved.add(list);
      else moved.delete(list);
    }
    this.#answers.delete(key);
    this.#answers.set(key, { key, query, others: unpaged(asked), data });
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > remembered && oldest !== undefined) this.#answers.delete(oldest);
    return moved;
  }

  /** Puts an entity where it belongs in a list, or takes it out; returns whether that changed anything. */
  apply({ family, filter, key, end }: CoveredList, entity: Entity): boolean {
    const page = this.#lists.get(key);
    if (!page?.edges) return false;
    const entities = page.edges.map(({ node }) => node);
    const before = { entities, hasMore: end !== undefined, end };
    const after = withEntity(before, filter, entity);
    const created = { __typename: edgeTypes[family], cursor: '', node: entity };
    if (after !== before) this.#lists.set(key, { ...page, edges: edgesOf(after, [...page.edges, created]) });
    return after !== before;
  }

  /** What an operation shows; undefined if it has to be asked for. */
  read(operation: Asked): Data | undefined {
    const isKnown = this.#answers.has(operation.key) && !this.isMissing(operation);
    return isKnown ? this.shown(operation) : undefined;
  }

  /** Whether an operation is for the page that a list lacks next: any list, or one of those that are given. */
  isMissing({ query, variables }: Asked, among?: ReadonlySet<string>): boolean {
    return liveFields(query).some((field) => {
      const args = argumentsOf(query, field, variables ?? {});
      const list = keyOf(field, args);
      if (among?.has(list) === false) return false;
      const { pageInfo: { endCursor, hasNextPage } = {} } = this.#lists.get(list) ?? {};
      return hasNextPage === true && args['after'] != null && args['after'] === endCursor;
    });
  }

  /**
   * The last answer to an operation, or else to one that only pages otherwise, with its lists as they are now: the same object
   * while nothing changes.
   */
  shown(operation: Asked): Data | undefined {
    const { query, variables } = operation;
    const answer = this.#answers.get(operation.key) ?? this.#pagedOtherwise(operation);
    if (!answer) return undefined;
    const { data } = answer;
    const lists = liveFields(query).map((field) => {
      const name = responseName(field);
      const list = keyOf(field, argumentsOf(query, field, variables ?? {}));
      return [name, this.#lists.get(list) ?? data[name]] as const;
    });
    if (lists.every(([name, list]) => data[name] === list)) return data;
    const shown = { ...data, ...Object.fromEntries(lists) };
    this.#answers.set(answer.key, { ...answer, data: shown });
    return shown;
  }

  clear(): void {
    this.#lists.clear();
    this.#answers.clear();
  }

  /** The last answer to an operation that differs from this one by its page alone. */
  #pagedOtherwise(operation: Asked): Answer | undefined {
    const others = unpaged(operation);
    const isAlike = (one: Answer) => one.query === operation.query && one.others === others;
    return [...this.#answers.values()].findLast(isAlike);
  }
}

function hasCursor({ after, before }: Data): boolean {
  return (after ?? before) != null;
}

/** A list with one more page; anything but a next or previous page takes its place. */
function joined(list: Page | undefined, page: Page, args: Data): Page {
  if (!list?.edges || !page.edges || !hasCursor(args)) return page;
  const { after, before, filter } = args;
  const isAfter = after != null;
  const { endCursor, startCursor } = list.pageInfo ?? {};
  if (isAfter ? !isNext(after, endCursor) : !isNext(before, startCursor)) return list;
  const ends = isAfter ? ['endCursor', 'hasNextPage'] : ['startCursor', 'hasPreviousPage'];
  const moved = Object.entries(page.pageInfo ?? {}).filter(([name]) => ends.includes(name));
  const entities = list.edges.map(({ node }) => node);
  let stretch: Stretch<Entity> = { entities, hasMore: false, end: undefined };
  for (const { node } of page.edges) stretch = withEntity(stretch, filter as Filter, node);
  const edges = edgesOf(stretch, [...list.edges, ...page.edges]);
  return { ...page, edges, pageInfo: { ...list.pageInfo, ...Object.fromEntries(moved) } };
}

/** The edges of entities; the last that is given for one has its fields on top, but not its cursor. */
function edgesOf({ entities }: Stretch<Entity>, given: readonly Edge[]): readonly Edge[] {
  const edges = new Map<string, Edge>();
  for (const edge of given) {
    const known = edges.get(edge.node.id);
    edges.set(edge.node.id, known ? { ...known, node: newest(known.node, edge.node) } : edge);
  }
  return entities.map(({ id }) => edges.get(id)!);
}

function newest(known: Entity, state: Entity): Entity {
  return known.revision > state.revision ? known : { ...known, ...state };
}
