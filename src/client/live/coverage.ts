import type { DocumentNode, FieldNode } from 'graphql';
import { callBack } from '../core/attempt.js';
import { isPlaceLost, TriviumError, type Answer } from '../core/error.js';
import { createPauses } from '../core/pause.js';
import { calledBack, type Sink } from '../core/transport.js';
import type { Trivium } from '../core/trivium.js';
import { Cover, type CoveredList, type List } from './cover.js';
import { Freshest } from './freshest.js';
import { isPlaceable, matches, type Entity, type Filter } from './order.js';
import { argumentsOf, keyOf, responseName, rootFields, type Arguments } from './root-fields.js';
import { createStreams, type Streams } from './streams.js';
import type { Family } from './store.js';

/** The cache that is kept covered: how it takes an entity, and how it asks for everything again. */
export interface CoverageOptions {
  readonly trivium: Trivium;
  /** Puts an entity where it belongs in a cached list, or takes it out. */
  readonly apply: (list: CoveredList, entity: Entity) => void;
  /** The log can no longer be read from where some lists are: everything must be asked for again. */
  readonly expired: () => void;
  /** Whether the cache may leave out an answer that has errors beside its data. */
  readonly leavesOutErrors?: boolean;
}

interface Page {
  readonly edges?: readonly { readonly node: Entity }[];
  readonly pageInfo?: { readonly hasNextPage?: boolean; readonly endCursor?: string | null };
}

/** Of which family the lists and updates of these root fields are. */
export const families: Readonly<Record<string, Family>> = {
  shipments: 'shipments',
  payments: 'payments',
  shipmentUpdates: 'shipments',
  paymentUpdates: 'payments',
};

/** The type of the edges of a family's lists. */
export const edgeTypes: Readonly<Record<Family, string>> = {
  shipments: 'ShipmentEdge',
  payments: 'PaymentEdge',
};

/**
 * Keeps the lists of a cache live, under whatever client has that cache: what the gateway says is made fit for it, so that
 * no row goes back in time, and no list misses an event.
 */
export class Coverage {
  readonly #options: CoverageOptions;
  readonly #streams: Streams;
  readonly #freshest = new Freshest();
  readonly #lists = new Map<string, List>();
  readonly #covers = new Set<Cover>();
  readonly #pauses = createPauses();
  /** How often a place was lost since the last event. */
  #losses = 0;
  /** The epoch in which a place was lost, until it is begun again. */
  #expiring: number | undefined;
  /** Counts who was signed in. */
  #epoch = 0;
  /** Whether it is asked who is signed in. */
  #isLearning = false;

  constructor(options: CoverageOptions) {
    this.#options = options;
    this.#streams = createStreams(options.trivium.subscribe);
  }

  /**
   * Runs a query or mutation. The answer is as the cache may have it: with the newest states that are known. The lists that
   * it has are kept in mind if the operation selects `liveCursor` beside them, and are live from there while a
   * subscription covers them. Rejects if there was no answer, and with `SESSION_CHANGED` if it is one for somebody who is not
   * signed in any more.
   */
  async execute(document: DocumentNode, variables: object, signal?: AbortSignal): Promise<Answer> {
    this.#learnViewer();
    const mine = this.#epoch;
    const answered = this.#awaitPages(document, variables);
    const answer = await this.#options.trivium.execute(document, variables, signal).finally(answered);
    if (mine !== this.#epoch && !answer.errors) throw sessionChanged();
    if (mine !== this.#epoch) return { errors: answer.errors! };
    if (answer.data == null) return answer;
    return { ...answer, data: this.#fit(document, variables, answer) };
  }

  /**
   * Subscribes. A subscription to all of a family (without a filter) covers the cache's lists of it: it begins where each
   * of them is, moves them on, and tells `apply` what they miss. The sink hears each event once. While nobody is signed in
   * who may have it, it waits, which the sink hears as an answer without data; it begins again once somebody else is.
   */
  subscribe(document: DocumentNode, variables: object, given: Sink): () => void {
    const sink = calledBack(given);
    const [field] = rootFields(document);
    const family = field && families[field.name.value];
    const { filter } = field ? argumentsOf(document, field, variables) : {};
    const coversAll = family && Object.values(filter ?? {}).every((value) => value == null);
    const fresh = ({ data, ...others }: Answer): Answer => ({
      ...others,
      data: this.#freshest.refresh(document, data),
    });
    let place = variables;
    const stop = () => {
      this.#covers.delete(cover);
      cover.stop();
    };
    const cover = new Cover(coversAll ? family : undefined, {
      next: (answer) => {
        if (coversAll) this.#losses = 0;
        sink.next(fresh(answer));
      },
      complete: () => {
        stop();
        sink.complete();
      },
      alone: (one) => {
        const from = place;
        place = withoutAfter(variables); // which counts once: after that it begins now
        return this.#options.trivium.subscribe(document, from, one);
      },
      join: (list, listener) => this.#streams.join(document, withoutAfter(variables), list.cursor, listener),
      take: (list, answer) => this.#take(list, fresh(answer)),
      fail: (failure) => {
        if (coversAll && isPlaceLost(failure)) return void this.#expire();
        if (/^(UNAUTHENTICATED|FORBIDDEN)$/.test(failure.code)) {
          cover.leaveLists();
          return sink.next(refusalOf(failure));
        }
        stop();
        return sink.error(failure);
      },
    });
    this.#covers.add(cover);
    cover.start([...this.#lists.values()]);
    return stop;
  }

  /** Forgets all, and begins what waits again: somebody else signed in, or nobody is any more. */
  clear(): void {
    this.#epoch++;
    this.#lists.clear();
    this.#freshest.clear();
    for (const cover of this.#covers) cover.leaveLists();
    this.#beginAgain();
  }

  /** Asks whose the cache is, if that is not known yet: it is forgotten only once another is known to be signed in. */
  #learnViewer(): void {
    const { trivium } = this.#options;
    if (this.#isLearning || trivium.session.status !== 'unknown') return;
    this.#isLearning = true;
    void trivium
      .refresh()
      .catch(() => {})
      .then(() => (this.#isLearning = false));
  }

  /**
   * The log cannot be read from where a list or a subscription is: it begins again, and all lists are asked for again,
   * after a pause if that has not helped.
   */
  async #expire(): Promise<void> {
    const mine = this.#epoch;
    this.#lists.clear();
    for (const cover of this.#covers) cover.leaveLists();
    if (this.#expiring === mine) return;
    this.#expiring = mine;
    this.#losses += 1;
    if (this.#losses > 1) await this.#pauses.wait(this.#losses - 2);
    if (mine !== this.#epoch) return;
    this.#expiring = undefined;
    // The log of a restored database gives its numbers once more.
    this.#freshest.clear();
    this.#beginAgain();
    this.#options.expired();
  }

  #beginAgain(): void {
    for (const cover of this.#covers) cover.startAgain();
  }

  #take(list: List, { data }: Answer): void {
    const entity = entityOf(data);
    if (!entity || !this.#has(list) || !isPlaceable(list.filter, entity)) return;
    for (const one of list.meanwhile) one.set(entity.id, entity);
    this.#apply(list, entity);
  }

  /** A cache tells whoever shows the list. */
  #apply(list: List, entity: Entity): void {
    callBack(() => this.#options.apply(list, entity));
  }

  /**
   * Has what takes place from now on go to the further pages of lists, too, which are asked for. Returns what is called with
   * the answer, or its failure.
   */
  #awaitPages(document: DocumentNode, variables: object): () => void {
    const found = rootFields(document).flatMap((field) => {
      const args = argumentsOf(document, field, variables);
      return (args['after'] != null && this.#lists.get(keyOf(field, args))) || [];
    });
    const waits = found.map((list) => [list, new Map<string, Entity>()] as const);
    for (const [list, entities] of waits) list.meanwhile.add(entities);
    return () => {
      for (const [list, entities] of waits) {
        list.meanwhile.delete(entities);
        this.#whenCached(list, () => {
          for (const entity of entities.values()) this.#apply(list, this.#freshest.refresh(document, entity));
        });
      }
    };
  }

  /** Acts once the cache has the answer that is now passed on, if it has the list then. */
  #whenCached(list: List, act: () => void): void {
    setTimeout(() => (this.#has(list) ? act() : undefined));
  }

  #has(list: List): boolean {
    return this.#lists.get(list.key) === list;
  }

  /** An answer's data as the cache may have it: its lists without what is known not to belong to them any more. */
  #fit(document: DocumentNode, variables: object, answer: Answer): unknown {
    const data = this.#freshest.refresh(document, answer.data) as Record<string, unknown>;
    const { liveCursor } = data;
    if (typeof liveCursor !== 'string') return data;
    const mayBeLeftOut = this.#options.leavesOutErrors === true && answer.errors !== undefined;
    const fields = rootFields(document).filter((field) => families[field.name.value]);
    const noted = fields.map((field) => {
      const name = responseName(field);
      const args = argumentsOf(document, field, variables);
      const page = data[name] as Page;
      if (!page?.edges) return [name, page];
      // A list of which the cache may still have the old rows stays where it is: what it hears twice changes nothing.
      if (!mayBeLeftOut || !this.#lists.has(keyOf(field, args)))
        this.#noteList(field, args, page, liveCursor);
      const { filter } = args as { readonly filter?: Filter };
      const edges = page.edges.filter(({ node }) => !isPlaceable(filter, node) || matches(filter, node));
      return [name, { ...page, edges }];
    });
    return { ...data, ...Object.fromEntries(noted) };
  }

  /** Keeps in mind where a list of an answer is, if it begins at the start. */
  #noteList(field: FieldNode, args: Arguments, page: Page, liveCursor: string): void {
    const { after, before, last, filter } = args as { filter?: Filter } & Arguments;
    const key = keyOf(field, args);
    const { hasNextPage, endCursor } = page.pageInfo ?? {};
    // Where it is not asked for whether there is more, there may be.
    const end = hasNextPage === false ? undefined : page.edges!.at(-1)?.node;
    const known = this.#lists.get(key);
    if (after == null && before == null && last == null) {
      const place = { end, endCursor, cursor: liveCursor, meanwhile: new Set<never>() };
      const list: List = { family: families[field.name.value]!, filter, key, ...place };
      for (const cover of this.#covers) if (known) cover.replace(known, list);
      this.#lists.set(key, list);
      // What has happened since the answer goes on top of it.
      this.#whenCached(list, () => this.#covers.forEach((cover) => cover.join(list)));
    } else if (known && isNext(after, known.endCursor)) Object.assign(known, { end, endCursor });
  }
}

/** The failure of what was asked by somebody who is not signed in any more. */
function sessionChanged(): TriviumError {
  const message = 'The session changed meanwhile: whether a mutation took place is not known.';
  return new TriviumError('SESSION_CHANGED', message);
}

/** A refusal as an answer, with which a subscription does not end. */
function refusalOf({ code, message }: TriviumError): Answer {
  return { data: null, errors: [{ message, extensions: { code } }] };
}

function withoutAfter(variables: object): object {
  const { after: _, ...others } = variables as Arguments;
  return others;
}

/** The shipment or payment of an update. */
function entityOf(data: unknown): Entity | undefined {
  const [update] = Object.values((data ?? {}) as Record<string, Record<string, Entity> | null>);
  return update?.['shipment'] ?? update?.['payment'];
}

/** Whether a page that was asked for `after` a cursor goes on where a list ends: not, if the list was replaced since. */
export function isNext(after: unknown, endCursor: unknown): boolean {
  return after != null && (endCursor === undefined || after === endCursor);
}
