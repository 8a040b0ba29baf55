import { MessageType, validateMessage, type SubscribePayload } from 'graphql-ws';
import { isObject } from '../../../lib/json.js';
import type { LightAbortController } from '../../../lib/async/abort.js';

/** Handles a message, or the text if it is not one; resolves when the operation that it asked for has ended. */
type Handle = (message: unknown) => Promise<void>;

/** A message of the protocol, not validated. */
interface Message {
  readonly type?: unknown;
  readonly id?: unknown;
  readonly payload?: unknown;
}

const ignore = (): void => undefined;

/** Types that only servers send: graphql-ws would take such a message from a client for a failure of its own. */
const ofServers: ReadonlySet<unknown> = new Set(['connection_ack', 'next', 'error']);
/** Bytes of UTF-8: an id goes into every message of its operation, and is not counted in their measured size. */
export const maxIdBytes = 255;

/** An operation under way, for one id of the client's. */
class Operation {
  /** What the client asked for; dropped when it is established as a subscription. */
  payload: SubscribePayload | undefined;
  /** Ends its work early; set while that runs, and dropped when it is established as a subscription. */
  ending: LightAbortController | undefined = undefined;
  /** It has ended, or is established as a subscription: a shutdown need not wait for it. */
  isSettled = false;
  /** The client has sent `complete` for it. */
  isCompleted = false;
  /** The `subscribe` that has come since with the same id. */
  next: Waiting | undefined = undefined;
  #whenSettled: (() => void)[] | undefined = undefined;

  constructor(payload: SubscribePayload | undefined) {
    this.payload = payload;
  }

  endBy(ending: LightAbortController): void {
    this.ending = ending;
  }

  establish(): void {
    this.ending = undefined;
    this.payload = undefined;
    this.settle();
  }

  /** Returns whether one was waiting. */
  dropNext(): boolean {
    const { next } = this;
    this.next = undefined;
    next?.release();
    return next !== undefined;
  }

  /** Calls this once it is settled; at once if it is. */
  whenSettled(then: () => void): void {
    if (this.isSettled) then();
    else (this.#whenSettled ??= []).push(then);
  }

  settle(): void {
    this.isSettled = true;
    const waiting = this.#whenSettled ?? [];
    this.#whenSettled = undefined;
    for (const then of waiting) then();
  }
}

/** A `subscribe`, and what releases the memory that it is charged for. */
interface Waiting {
  readonly message: Message;
  readonly release: () => void;
}

/** The connection that the operations belong to. */
interface Owner {
  /** The client has sent its `connection_init`. */
  init(payload: unknown): void;
  /** The client asked for a third operation under one id. */
  refuse(): void;
  /** The client sent a message that it may not send, for this reason. */
  reject(reason: string): void;
  /** A message could not be handled. */
  fail(error: unknown): void;
}

/**
 * The operations of one socket. A client may reuse an id as soon as it has completed it; graphql-ws takes the id to be
 * free then, though its operation may still be running, and would mix up the two. So a new operation waits here until
 * the one before has ended, which `complete` has aborted. If a second one comes to wait, `refuse` closes the socket, as
 * the protocol has it. A class, since there are many: closures would take more memory than all the rest.
 */
export class Operations {
  readonly #underWay = new Map<string, Operation>();
  readonly #handle: Handle;
  readonly #owner: Owner;

  constructor(handle: Handle, owner: Owner) {
    this.#handle = handle;
    this.#owner = owner;
  }

  /** Takes a message; calls `release` once it, or the operation that it begins, needs no more memory. */
  take(text: string, release: () => void = ignore): void {
    const message = parse(text);
    const { type, id, payload } = message ?? {};
    if (ofServers.has(type)) this.#owner.reject('Invalid message received');
    else if (type === 'connection_init' && isObject(payload)) this.#init(payload);
    else if (typeof id !== 'string') this.#pass(message ?? text);
    else if (Buffer.byteLength(id) > maxIdBytes)
      this.#owner.reject(`The id of an operation may have no more than ${maxIdBytes} bytes`);
    else if (type === 'subscribe') return this.#begin(id, { message: { type, id, payload }, release });
    else if (type === 'complete') this.#leave(id, { type, id });
    else this.#pass(message);
    release();
  }

  /** The operation under way for this id. */
  get(id: string): Operation | undefined {
    return this.#underWay.get(id);
  }

  /** Resolves once nothing is under way but established subscriptions. */
  async answered(): Promise<void> {
    const open = () => [...this.#underWay.values()].filter(({ isSettled }) => !isSettled);
    for (let unsettled = open(); unsettled.length > 0; unsettled = open())
      await Promise.all(
        unsettled.map((operation) => new Promise<void>((resolve) => operation.whenSettled(resolve))),
      );
  }

  /** Aborts all operations, and drops those that wait for an id. */
  endAll(): void {
    for (const operation of this.#underWay.values()) {
      operation.dropNext();
      operation.ending?.abort();
    }
  }

  #init(payload: unknown): void {
    this.#owner.init(payload);
    this.#pass({ type: MessageType.ConnectionInit });
  }

  #begin(id: string, waiting: Waiting): void {
    const before = this.#underWay.get(id);
    if (!before) return this.#run(id, waiting);
    if (before.isCompleted && before.next === undefined) return void (before.next = waiting);
    waiting.release();
    return before.isCompleted ? this.#owner.refuse() : this.#pass(waiting.message);
  }

  #leave(id: string, message: Message): void {
    const operation = this.#underWay.get(id);
    if (operation) operation.isCompleted = true;
    if (operation?.dropNext()) return;
    operation?.ending?.abort();
    this.#pass(message);
  }

  #run(id: string, { message, release }: Waiting): void {
    const operation = new Operation(payloadOf(message));
    operation.whenSettled(release);
    this.#underWay.set(id, operation);
    // graphql-ws keeps what it gets for as long as a subscription lasts: the payload stays with the operation.
    const passed = operation.payload ? { ...message, payload: { query: '' } } : message;
    this.#handle(passed).then(
      () => this.#end(id, operation),
      (error: unknown) => this.#fail(id, operation, error),
    );
  }

  #end(id: string, operation: Operation): void {
    this.#underWay.delete(id);
    operation.settle();
    if (operation.next !== undefined) this.#run(id, operation.next);
  }

  #fail(id: string, operation: Operation, error: unknown): void {
    this.#underWay.delete(id);
    operation.dropNext();
    operation.settle();
    this.#owner.fail(error);
  }

  #pass(message: unknown): void {
    this.#handle(message).catch((error: unknown) => this.#owner.fail(error));
  }
}

/** The payload of a valid `subscribe`; undefined for another, which graphql-ws refuses. */
function payloadOf(message: Message): SubscribePayload | undefined {
  try {
    const { payload } = validateMessage(withQuery(message)) as { readonly payload: SubscribePayload };
    return payload;
  } catch {
    return undefined;
  }
}

/** A document that is named by an id needs no text, which the protocol demands. */
function withQuery(message: Message): Message {
  const { payload } = message;
  const isNamed = isObject(payload) && ('documentId' in payload || 'extensions' in payload);
  return isNamed ? { ...message, payload: { ...payload, query: payload['query'] ?? '' } } : message;
}

/** Undefined if it is not a message: graphql-ws then says what is wrong with it. */
function parse(text: string): Message | undefined {
  try {
    const message: unknown = JSON.parse(text);
    return isObject(message) ? message : undefined;
  } catch {
    return undefined;
  }
}
