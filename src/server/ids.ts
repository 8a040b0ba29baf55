import type { Context } from '../context.js';
import { isObject } from '../json.js';
import type { Ending } from '../signal.js';

/** Handles a message, or the text of what is none; resolves when what it asked for has ended. */
type Handle = (message: unknown) => Promise<void>;

/** What a message tells. */
interface Message {
  readonly type?: unknown;
  readonly id?: unknown;
  readonly payload?: unknown;
}

/** What only a server says: graphql-ws would take such a message from a client for a failure of its own. */
const ofServers: ReadonlySet<unknown> = new Set(['connection_ack', 'next', 'error']);
/** Bytes of UTF-8: an id goes into every message of its operation, beside what is measured of them. */
const longestId = 255;

/** What is under way for an id of the client's. */
class Operation {
  /** What it is run with, until it is a subscription that stands. */
  context: Context | undefined = undefined;
  ending: Ending | undefined = undefined;
  /** It is over, or stands: there is nothing more of it to wait for. */
  isSettled = false;
  readonly settled: Promise<void>;
  #settle!: () => void;
  /** Its client has completed it. */
  left = false;
  /** What the client has asked for since under the same id. */
  next: Message | undefined = undefined;

  constructor() {
    this.settled = new Promise((resolve) => (this.#settle = resolve));
  }

  run(context: Context, ending: Ending): void {
    this.context = context;
    this.ending = ending;
  }

  stand(): void {
    this.context = undefined;
    this.ending = undefined;
    this.settle();
  }

  settle(): void {
    this.isSettled = true;
    this.#settle();
  }
}

/** Whose operations they are. */
interface Owner {
  /** A third operation for one id. */
  refuse(): void;
  /** A message that is not a client's to send, and why. */
  reject(reason: string): void;
  /** A message could not be handled. */
  fail(error: unknown): void;
}

/**
 * The operations of one socket; an id may be used again as soon as it is completed. graphql-ws takes it to be free
 * then, though its operation may still be under way, and would mix the two: a new operation waits here until the one
 * before has ended, and hastens that. A second one that waits would be one too many: `refuse` closes the socket, as the
 * protocol has it. A class, as there are many: functions of their own would weigh more than the rest.
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
    const message = parse(text);
    const { type, id, payload } = message ?? {};
    if (ofServers.has(type)) this.#owner.reject('Invalid message received');
    else if (typeof id !== 'string') this.#pass(message ?? text);
    else if (Buffer.byteLength(id) > longestId)
      this.#owner.reject(`The id of an operation may have no more than ${longestId} bytes`);
    // Not the text, nor what else is in it: graphql-ws keeps what it gets for as long as a subscription stands.
    else if (type === 'subscribe') this.#begin(id, { type, id, payload });
    else if (type === 'complete') this.#leave(id, { type, id });
    else this.#pass(message);
  }

  /** What is under way for this id. */
  get(id: string): Operation | undefined {
    return this.#underWay.get(id);
  }

  /** Resolves once nothing is under way but subscriptions that stand. */
  async answered(): Promise<void> {
    const open = () => [...this.#underWay.values()].filter(({ isSettled }) => !isSettled);
    for (let waited = open(); waited.length > 0; waited = open())
      await Promise.all(waited.map(({ settled }) => settled));
  }

  /** Hastens the end of all. */
  endAll(): void {
    for (const operation of this.#underWay.values()) {
      operation.next = undefined;
      operation.ending?.abort();
    }
  }

  #begin(id: string, message: Message): void {
    const before = this.#underWay.get(id);
    if (!before) this.#run(id, message);
    else if (!before.left) this.#pass(message);
    else if (before.next !== undefined) this.#owner.refuse();
    else before.next = message;
  }

  #leave(id: string, message: Message): void {
    const operation = this.#underWay.get(id);
    const waited = operation?.next !== undefined;
    if (operation) Object.assign(operation, { left: true, next: undefined });
    if (waited) return;
    operation?.ending?.abort();
    this.#pass(message);
  }

  #run(id: string, message: Message): void {
    const operation = new Operation();
    this.#underWay.set(id, operation);
    const end = () => {
      this.#underWay.delete(id);
      operation.settle();
    };
    const ended = () => {
      end();
      if (operation.next !== undefined) this.#run(id, operation.next);
    };
    const failed = (error: unknown) => {
      end();
      this.#owner.fail(error);
    };
    this.#handle(message).then(ended, failed);
  }

  #pass(message: unknown): void {
    this.#handle(message).catch((error: unknown) => this.#owner.fail(error));
  }
}

/** Undefined where it is none: graphql-ws says what is wrong with it. */
function parse(text: string): Message | undefined {
  try {
    const message: unknown = JSON.parse(text);
    return isObject(message) ? message : undefined;
  } catch {
    return undefined;
  }
}
