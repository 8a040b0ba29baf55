import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { CloseCode, MessageType, type WebSocket as ProtocolSocket } from 'graphql-ws';
import type { WebSocket } from 'ws';
import type { Session } from '../../../domains/sessions/session.js';
import type { Telemetry } from '../../../lib/telemetry/telemetry.js';
import { isTurnShort } from '../../../lib/async/pace.js';
import { heapOfJson, isDeeper } from '../../../lib/json-size.js';
import { userCaller, type Holding } from '../../../lib/memory/memory-ledger.js';
import type { ReadingTurns, Source } from '../../http/reading-turns.js';
import { longReading, type Admission } from '../../operation/admission.js';
import { Arriving } from './arriving.js';
import { chargeWaiting, sendAnswer } from './backpressure.js';
import { Operations } from './operation-ids.js';
import { pauseReading } from './pauses.js';
import { Heartbeat } from '../heartbeat.js';

const serviceRestart = 1012;
/** The close code for what cannot be done here now: clients reconnect by themselves. */
export const tryAgainLater = 1013;
/** Bytes that fit into a close frame beside the code (RFC 6455 §5.5). */
const maxReasonBytes = 123;
/** What a client may send before it is known who it is: bytes, and messages. */
const maxUnknownBytes = 64 * 1024;
const maxUnknownMessages = 16;
/** Messages of one chunk that are taken as they come; what they cause, such as an answer, is not done yet then. */
const takenAtOnce = 16;
/** In bytes: a longer message waits for its turn to be parsed, and a shorter one is charged with its operation. */
const longMessage = 16 * 1024;
const shortMessage = 1024;
/** Deeper than any operation may be, which is told so: to parse a megabyte of lists in lists would hold everybody up. */
const maxMessageDepth = 30_000;
const ignore = (): void => undefined;

/** What a connection works with. */
interface ConnectionOptions {
  readonly telemetry: Telemetry;
  readonly admission: Admission;
  /** Who is charged for it, until it is known who calls. */
  readonly caller: string;
  /** By which it is read, with all other websockets. */
  readonly reading: Pick<ReadingTurns, 'add' | 'note'>;
}

/**
 * A websocket as graphql-ws sees it, and our own state of it. A class, since there are many: closures would take more
 * memory than all the rest.
 */
export class Connection implements ProtocolSocket, Source {
  readonly socket: WebSocket;
  readonly heartbeat: Heartbeat;
  /** The headers of the upgrade request, until it is known who is calling. */
  headers: IncomingHttpHeaders | undefined;
  /** The payload of `connection_init`, until it is known who is calling. */
  initPayload: unknown = undefined;
  /** Whether its operations are told what they cost. */
  asksForCost: true | undefined = undefined;
  /** Set by `admit`. */
  session: Session | undefined = undefined;
  /** Stops watching the session. */
  unwatch: () => void = ignore;
  /** The operations under way, subscriptions among them; undefined if the client speaks another protocol. */
  operations: Operations | undefined = undefined;
  /** How many are accepted and not ended; `operations` also has those whose last message is still to be written. */
  running = 0;
  /** Who is charged for it. */
  caller: string;
  readonly stream: IncomingMessage['socket'];
  readonly #admission: Admission;
  readonly #reading: ConnectionOptions['reading'];
  readonly #log: Telemetry['log'];
  readonly #firstBytes: number;
  readonly #arriving: Arriving;
  /** Messages of this chunk that were taken. */
  #taken = 0;
  readonly #leaving: Holding;
  /** Messages that wait for one before them. */
  #waiting: Buffer[] | undefined = undefined;
  /** The payload of the newest ping, until it is answered. */
  #ping: Buffer | undefined = undefined;
  /** Ends a pause between its turns of being read. */
  #readOn: (() => void) | undefined = undefined;

  constructor(
    socket: WebSocket,
    { socket: stream, headers }: IncomingMessage,
    { telemetry, admission, caller, reading }: ConnectionOptions,
  ) {
    this.socket = socket;
    this.stream = stream;
    this.heartbeat = new Heartbeat(socket, stream);
    this.headers = headers;
    this.caller = caller;
    this.#admission = admission;
    this.#reading = reading;
    this.#log = telemetry.log;
    this.#firstBytes = stream.bytesRead;
    const terminate = () => socket.terminate();
    this.#arriving = new Arriving(admission.ledger.open(caller, 'arriving', terminate), terminate);
    this.#leaving = admission.ledger.open(caller, 'leaving', terminate);
    chargeWaiting(socket, this.#leaving);
    // Before `ws` has it, which may find the end of the message in it.
    stream.prependListener('data', (chunk: Buffer) => this.#arrive(chunk.length));
    socket.on('ping', (data: Buffer) => this.#takePing(data));
    socket.on('pong', (data: Buffer) => this.#arriving.passControl(data));
    reading.add(stream, this);
  }

  pause(): void {
    this.#readOn ??= pauseReading(this.socket);
  }

  resume(): void {
    this.#readOn?.();
    this.#readOn = undefined;
  }

  isPaused(): boolean {
    return this.socket.isPaused;
  }

  /** Keeps the credentials of `connection_init` from graphql-ws, which would hold them while the socket is open. */
  init(payload: unknown): void {
    this.initPayload = payload;
  }

  /** Must be called once it is known who is calling. */
  admit(session: Session): void {
    this.session = session;
    this.caller = userCaller(session.caller.userId);
    for (const holding of [this.#arriving, this.#leaving]) holding.become(this.caller);
  }

  /** Must be called when the socket is closed. */
  release(): void {
    this.#arriving.release();
    this.#leaving.release();
  }

  #arrive(bytes: number): void {
    this.#taken = 0;
    this.#reading.note(this.stream);
    const isUnknown = this.session === undefined;
    if (isUnknown && this.stream.bytesRead - this.#firstBytes > maxUnknownBytes)
      return this.socket.terminate();
    this.#arriving.add(bytes);
    if (this.#arriving.begun >= longReading && !this.socket.isPaused) void this.#readOnInTurn();
  }

  /** Answers the newest of the pings that came in one piece (RFC 6455 §5.5.3). */
  #takePing(data: Buffer): void {
    this.#arriving.passControl(data);
    if (!this.#ping) queueMicrotask(() => this.#pong());
    this.#ping = data;
  }

  #pong(): void {
    const data = this.#ping;
    this.#ping = undefined;
    if (this.#isOpen) this.socket.pong(data);
  }

  /** Many that send long messages at once are read a few at a time. */
  async #readOnInTurn(): Promise<void> {
    const readOn = pauseReading(this.socket);
    await this.#admission.toRead(this.caller);
    readOn();
  }

  get #isOpen(): boolean {
    return this.socket.readyState === this.socket.OPEN;
  }

  get protocol(): string {
    return this.socket.protocol;
  }

  /** Resolves once the message is written (so that a stream waits for a slow socket), or its client has gone. */
  send(text: string): Promise<void> {
    return sendAnswer(this.socket, this.stream, text);
  }

  /** Truncates a reason too long for a close frame, as one with the client's own id may be. */
  close(code?: number, reason = ''): void {
    const fitting = Buffer.from(reason).subarray(0, maxReasonBytes);
    this.socket.close(code, new TextDecoder().decode(fitting, { stream: true }));
  }

  /** Closes the socket; clients reconnect by themselves. */
  restart(): void {
    this.close(serviceRestart, 'Service restart');
  }

  /** As `restart`, once nothing but subscriptions is under way. */
  async retire(): Promise<void> {
    await this.operations?.answered();
    this.restart();
  }

  onMessage(handle: (text: string) => Promise<void>): void {
    // It takes a parsed message, too, though its type does not say so.
    const operations = new Operations(handle as (message: unknown) => Promise<void>, this);
    this.operations = operations;
    let messages = 0;
    this.socket.on('message', (data: Buffer) => {
      messages += 1;
      // Those few have a deadline.
      const isUnknown = this.session === undefined;
      const isLong = data.length > (isUnknown ? shortMessage : longMessage);
      this.#arriving.end(data);
      if (isUnknown && messages > maxUnknownMessages) this.socket.terminate();
      else if (this.#waiting || isLong || !(isUnknown || this.#mayTakeAtOnce())) this.#keep(data, operations);
      else this.#take(data, operations);
    });
  }

  #mayTakeAtOnce(): boolean {
    this.#taken += 1;
    return this.#taken <= takenAtOnce && isTurnShort();
  }

  /** Has a message wait for its turn, and for those before it; there may be thousands in one chunk. */
  #keep(data: Buffer, operations: Operations): void {
    this.#arriving.keep(data);
    if (this.#waiting) this.#waiting.push(data);
    else void this.#takeInTurns([data], operations);
  }

  #take(data: Buffer, operations: Operations): void {
    // The client may go on sending after we began to close.
    if (!this.#isOpen) return;
    if (data.length <= shortMessage) return operations.take(data.toString());
    if (isDeeper(data, maxMessageDepth)) return this.reject('The message is nested too deep');
    const release = this.#admission.ledger.charge(this.caller, 'parsed', heapOfJson(data));
    if (release) operations.take(data.toString(), release);
    else this.close(tryAgainLater, 'Too much is in progress');
  }

  /** Reads no more until all these are taken, when it is their turn. */
  async #takeInTurns(waiting: Buffer[], operations: Operations): Promise<void> {
    this.#waiting = waiting;
    const readOn = pauseReading(this.socket);
    for (let data = waiting.shift(); data && this.#isOpen; data = waiting.shift()) {
      const message = data;
      const take = () => {
        if (!this.#isOpen) return; // what it had is released
        this.#arriving.letGo(message);
        this.#take(message, operations);
      };
      if (data.length > longMessage) await this.#admission.inTurn(this.caller, take);
      else await this.#admission.toTake(this.caller).then(take);
    }
    this.#waiting = undefined;
    readOn();
  }

  /** Answers with the payload of the ping, as graphql-ws would, unless it is nested too deep to be written. */
  onPing(payload: unknown): Promise<void> | void {
    try {
      return this.send(JSON.stringify({ type: MessageType.Pong, payload: payload ?? undefined }));
    } catch {
      this.reject('The payload of a ping is nested too deep');
    }
  }

  refuse(): void {
    this.close(CloseCode.SubscriberAlreadyExists, 'Subscriber already exists');
  }

  reject(reason: string): void {
    this.close(CloseCode.BadRequest, reason);
  }

  fail(err: unknown): void {
    this.#log.error({ err }, 'a websocket message could not be handled');
    this.close(CloseCode.InternalServerError, 'Internal server error');
  }
}
