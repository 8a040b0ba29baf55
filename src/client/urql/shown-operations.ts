import {
  makeResult,
  type Client,
  type CombinedError,
  type Operation,
  type OperationResult,
} from '@urql/core';
import { makeSubject } from 'wonka';
import { callBack } from '../core/attempt.js';
import type { CoveredList } from '../live/cover.js';
import type { Entity } from '../live/order.js';
import { fromBeginning, hasLiveList, LiveLists } from './live-lists.js';

type Data = Readonly<Record<string, unknown>>;

/** What an operation has been told last: what its lists are, and the failure since which it was not asked again. */
interface Told {
  readonly data: unknown;
  readonly error?: CombinedError | undefined;
}

/** The operations of a client that are mounted, and what those with live lists show. */
export class ShownOperations {
  readonly #client: Client;
  readonly #active = new Map<number, Operation>();
  readonly #lists = new LiveLists();
  readonly #changes = makeSubject<OperationResult>();
  readonly #told = new Map<number, Told>();
  /** Which are asked for the beginning of their lists, until these begin: the cursor that one is after counted before that. */
  readonly #begunAgain = new Set<number>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** What operations are told besides the answers. */
  readonly changes$ = this.#changes.source;

  /** Tells an operation its result. */
  readonly tell = (result: OperationResult): void => callBack(() => this.#changes.next(result));

  /** Keeps in mind that an operation is mounted, or not any more. */
  readonly track = (operation: Operation): void => {
    const { kind, key } = operation;
    if (kind === 'teardown') {
      this.#active.delete(key);
      this.#told.delete(key);
      this.#begunAgain.delete(key);
    } else if (kind !== 'mutation') this.#active.set(key, operation);
  };

  /** With what an operation is asked for: for the beginning of its lists, if they were forgotten. */
  variablesOf({ key, query, variables }: Operation): object {
    const given = (variables ?? {}) as object;
    return this.#begunAgain.has(key) ? fromBeginning(query, given) : given;
  }

  /** What is known of an operation's lists; undefined if it has to be asked for. */
  read(operation: Operation): Data | undefined {
    const data = this.#lists.read(operation);
    if (data) this.#told.set(operation.key, { data });
    return data;
  }

  /** Takes an answer over, and returns it as it is to be told: with all pages of its lists. */
  readonly take = (result: OperationResult<unknown>): OperationResult<unknown> => {
    const { operation } = result;
    const data = result.data as Data | null | undefined;
    const asked = { ...operation, variables: this.variablesOf(operation) };
    if (data != null) {
      this.#begunAgain.delete(operation.key);
      this.#goOn(this.#lists.take(asked, data));
    }
    const shown = this.#lists.shown(operation) ?? data;
    this.#told.set(operation.key, { data: shown, error: result.error });
    this.#tellAll();
    return { ...result, data: shown };
  };

  /** Puts an entity where it belongs in a list, or takes it out. */
  readonly apply = (list: CoveredList, entity: Entity): void => {
    if (this.#lists.apply(list, entity)) this.#tellAll();
  };

  /** Forgets all lists, and what was told of them. */
  clear(): void {
    this.#lists.clear();
    this.#told.clear();
  }

  /** Asks again for what is mounted: all of it, or only what has live lists. */
  askAgain(concerns: (operation: Operation) => boolean = () => true): void {
    for (const operation of [...this.#active.values()].filter(concerns)) {
      this.#begunAgain.add(operation.key);
      this.#ask(operation);
    }
  }

  /**
   * Lists have begun anew, or have one more page: what is mounted for the page that these lack now asks for it once more, since
   * a page that passes the same cursor again changes nothing.
   */
  #goOn(lists: ReadonlySet<string>): void {
    for (const operation of this.#active.values())
      if (!this.#begunAgain.has(operation.key) && this.#lists.isMissing(operation, lists))
        this.#ask(operation);
  }

  /** Has the gateway asked, whatever is known. */
  #ask(operation: Operation): void {
    const context = { ...operation.context, requestPolicy: 'network-only' as const };
    const again = { ...operation, context };
    this.#client.reexecuteOperation(again);
    // What still waits for an answer, or runs, is asked again only if it is told so while it is queued.
    this.#client.reexecuteOperation(again);
  }

  /** Tells each operation that has been answered what its lists are now, if they have changed. */
  #tellAll(): void {
    for (const operation of this.#active.values()) {
      const told = this.#told.get(operation.key);
      const data = told && hasLiveList(operation.query) ? this.#lists.shown(operation) : undefined;
      if (!told || !data || told.data === data) continue;
      this.#told.set(operation.key, { ...told, data });
      this.tell({ ...makeResult(operation, { data }), ...(told.error && { error: told.error }) });
    }
  }
}
