import type { Context } from '../context.js';
import type { Ending } from '../signal.js';

/** Handles the text of a message; resolves when what it asked for has ended. */
export type Handle = (text: string) => Promise<void>;

/** What only a server says: graphql-ws knows these messages, and would take one from a client for a failure of its own. */
const ofServers: ReadonlySet<unknown> = new Set(['connection_ack', 'next', 'error']);

/** What is under way for an id of the client's. */
class Operation {
  /** What it is run with, until it is a subscription that stands. */
  context: Context | undefined = undefined;
  ending: Ending | undefined = undefined;
  /** It is over once it is answered. */
  isQuery = false;
  /** Resolves when it is over. */
  over!: Promise<void>;
  /** Its client has completed it. */
  left = false;
  /** What the client has asked for since under the same id. */
  next: string | undefined = undefined;

  run(context: Context, ending: Ending, isQuery: boolean): void {
    this.context = context;
    this.ending = ending;
    this.isQuery = isQuery;
  }

  stand(): void {
    this.context = undefined;
    this.ending = undefined;
  }
}

/** Whose operations they are. */
interface Owner {
  /** A third operation for one id. */
  refuse(): void;
  /** A message that is not a client's to send. */
  reject(): void;
  /** A message could not be handled. */
  fail(error: unknown): void;
}

/**
 * The operations of one socket; an id may be used again as soon as it is completed. graphql-ws takes it to be free then,
 * though what had it may still be under way, and would mix the two: what asks for it anew waits here until the one before
 * has ended, and hastens that. A second one that waits would be one too many: `refuse` closes the socket, as the protocol
 * has it. A class, as there are many: functions of their own would weigh more than the rest.
 */
export class Operations {
  readonly #underWay = new Map<string, Operation>();
  readonly #handle: Handle;
  readonly #owner: Owner;

  constructor(handle: Handle, owner: Owner) {
    this.#handle = handle;
    this.#owner = owner;
  }

  /** Takes a message. */
  take(text: string): void {
    const { type, id } = parse(text);
    if (ofServers.has(type)) this.#owner.reject();
    else if (typeof id !== 'string') this.#pass(text);
    else if (type === 'subscribe') this.#begin(id, text);
    else if (type === 'complete') this.#leave(id, text);
    else this.#pass(text);
  }

  /** What is under way for this id. */
  get(id: string): Operation | undefined {
    return this.#underWay.get(id);
  }

  /** Resolves once no query is under way. */
  async answered(): Promise<void> {
    const queries = () => [...this.#underWay.values()].filter(({ isQuery }) => isQuery);
    for (let open = queries(); open.length > 0; open = queries())
      await Promise.all(open.map(({ over }) => over));
  }

  /** Hastens the end of all. */
  endAll(): void {
    for (const operation of this.#underWay.values()) {
      operation.next = undefined;
      operation.ending?.abort();
    }
  }

  #begin(id: string, text: string): void {
    const before = this.#underWay.get(id);
    if (!before) this.#run(id, text);
    else if (!before.left) this.#pass(text);
    else if (before.next !== undefined) this.#owner.refuse();
    else before.next = text;
  }

  #leave(id: string, text: string): void {
    const operation = this.#underWay.get(id);
    const waited = operation?.next !== undefined;
    if (operation) Object.assign(operation, { left: true, next: undefined });
    if (waited) return;
    operation?.ending?.abort();
    this.#pass(text);
  }

  #run(id: string, text: string): void {
    const operation = new Operation();
    this.#underWay.set(id, operation);
    const ended = () => {
      this.#underWay.delete(id);
      if (operation.next !== undefined) this.#run(id, operation.next);
    };
    const failed = (error: unknown) => {
      this.#underWay.delete(id);
      this.#owner.fail(error);
    };
    operation.over = this.#handle(text).then(ended, failed);
  }

  #pass(text: string): void {
    this.#handle(text).catch((error: unknown) => this.#owner.fail(error));
  }
}

/** What of a message tells the id it is about; graphql-ws says what is wrong with one that is none. */
function parse(text: string): { readonly type?: unknown; readonly id?: unknown } {
  try {
    return (JSON.parse(text) ?? {}) as object;
  } catch {
    return {};
  }
}
