import type { IncomingHttpHeaders } from 'node:http';
import type { GraphQLResolveInfo } from 'graphql';
import type { AppointmentsContext } from '../domains/appointments/resolvers.js';
import type { Feed } from '../events/feed/feed.js';
import type { LogPosition } from '../events/log/log-position.js';
import type { NotesOperation } from '../domains/notes/notes.js';
import type { NotesContext } from '../domains/notes/resolvers.js';
import type { PaymentsContext } from '../domains/payments/resolvers.js';
import type { SessionsContext } from '../domains/sessions/resolvers.js';
import type { Session } from '../domains/sessions/session.js';
import type { ShipmentsContext } from '../domains/shipments/resolvers.js';
import type { WebhooksContext } from '../domains/webhooks/resolvers.js';
import { LightAbortController, type Signal } from '../lib/async/abort.js';
import type { RateLimit } from '../lib/rate-limit.js';
import { traceArrival, type TracedWork } from '../lib/telemetry/tracing.js';

/** Counts, in one run of an operation, what lists of unknown length, and fields that fail, add to its estimated cost. */
export interface FieldTally {
  /** Adds rows beyond the estimate for the list being resolved; returns whether the operation now asks for too much. */
  exceeds(more: number, info: GraphQLResolveInfo): boolean;
  /** Adds so many fields that fail; returns whether the operation now asks for too much. */
  fails(count: number): boolean;
  /** How many objects the operation has looked for by their ids. */
  objects: number;
  /** Whether the operation has been found to ask for too much. */
  readonly exceeded: boolean;
}

/** The context of one operation: the domains' slices, combined. */
export type Context = SessionsContext &
  NotesContext &
  AppointmentsContext &
  ShipmentsContext &
  PaymentsContext &
  WebhooksContext & {
    readonly feed: Feed;
    /** A position in the log taken before anything else of the operation was read. */
    readonly logPosition: LogPosition;
    /** When the operation began, by `performance.now()`. */
    readonly began: number;
    /** The id under which the operation is logged. */
    readonly requestId: string;
    /** Whether its client went away before it was answered: what then fails is nobody's error. */
    readonly hasLeft: boolean;
    /** Its span; undefined while tracing is off. */
    readonly trace: TracedWork | undefined;
    readonly tally: FieldTally;
    /** What the operation is estimated to cost, in fields, once that is known. */
    cost: number | undefined;
    /** What is left of the limits that the operation was subject to: they go out with its answer. */
    rateLimits(): readonly RateLimit[];
    /** To be called when the notes service no longer knows the session's token. */
    endSession(): void;
    /** To be called before a second run: keeps what was read, and resets the tally unless it is exceeded. */
    prepareRerun(): void;
    /** Aborts the operation's signal, since its result is no longer wanted: work that still waits is dropped. */
    abort(): void;
    /** A new context of the same caller for work that outlives this operation: no deadline or disconnect aborts it. */
    detached(): Context;
  };

/** What the HTTP or websocket side knows of an operation when it begins. */
export interface OperationRequest {
  readonly session: Session | undefined;
  /**
   * Makes the signal, aborted at the operation's end or deadline, or when its client is gone; called once at most. The
   * deadline counts from this call, so whatever may take long uses the signal first: the fields of a mutation, which
   * run one after the other, then share one deadline.
   */
  readonly signal: () => LightAbortController;
  /** Whether the client has gone, asked before it is answered. */
  readonly hasLeft: () => boolean;
  /** The client's address, as trusted proxies report it; absent where nobody can sign in. */
  readonly ip?: string;
  readonly requestId: string;
  /** When it came, by `performance.now()`, if its session had to be looked up since. */
  readonly began?: number;
  readonly cookie?: Context['cookie'];
  /** The request's headers, which may say which trace it belongs to. */
  readonly headers?: IncomingHttpHeaders;
  readonly resumeAfter?: string | undefined;
}

/** Makes the context of one operation. */
export type MakeContext = (request: OperationRequest) => Context;

type SharedName =
  | 'sessions'
  | 'grantsOf'
  | 'bookings'
  | 'paymentsClient'
  | 'webhookSecrets'
  | 'webhookEndpoints'
  | 'liveDeliveries'
  | 'feed'
  | 'cursors';

/** What all operations share. */
export type Shared = Pick<Context, SharedName>;

/** The read models of one operation, which share its database reads. */
type Stored = Pick<Context, 'appointments' | 'shipments' | 'payments' | 'deliveries'>;

/** Makes the parts of a context that belong to one operation alone. */
export interface PerOperation {
  me(token: string, signal: Signal): ReturnType<Context['me']>;
  notes(operation: NotesOperation): Context['notes'];
  /** What is left of the calls to the notes service with this token. */
  notesLimit(token: string): RateLimit | undefined;
  stored(signal: Signal): Stored;
  endSession(sessionId: string): void;
  tally(): FieldTally;
}

/** Makes contexts; the parts that belong to one operation are made at their first use. */
export function createContexts(shared: Shared, perOperation: PerOperation): MakeContext {
  // A class, since an object literal with getters is far slower to make. Its fields are `private` rather than `#`:
  // Apollo Server copies own properties to a new object of the same prototype.
  class Operation implements Omit<Context, SharedName> {
    caller: Context['caller'];
    cost: Context['cost'] = undefined;
    readonly requestId: string;
    readonly logPosition = shared.feed.position();
    readonly began: number;
    private readonly request: OperationRequest;
    private readonly token: string;
    private madeSignal: LightAbortController | undefined;
    private madeNotes: Context['notes'] | undefined;
    private madeStored: Stored | undefined;
    private madeMe: ReturnType<Context['me']> | undefined;
    private madeTally: FieldTally | undefined;
    private madeTrace: TracedWork | undefined;
    private toldLimits: readonly RateLimit[] | undefined;

    constructor(request: OperationRequest) {
      this.request = request;
      this.token = request.session?.notesToken ?? '';
      this.caller = request.session?.caller ?? null;
      this.began = request.began ?? performance.now();
      this.requestId = request.requestId;
    }

    get ip() {
      return this.request.ip;
    }

    get hasLeft() {
      return this.request.hasLeft();
    }

    get resumeAfter() {
      return this.request.resumeAfter;
    }

    get cookie() {
      return this.request.cookie;
    }

    get signal(): LightAbortController {
      if (this.madeSignal) return this.madeSignal;
      this.madeSignal = this.request.signal();
      this.madeSignal.origin = { requestId: this.requestId, trace: this.trace };
      return this.madeSignal;
    }

    get trace() {
      return (this.madeTrace ??= traceArrival('operation', this.request.headers, this.began));
    }

    get notes() {
      const { sessionId = '', userId = '' } = this.caller ?? {};
      return (this.madeNotes ??= perOperation.notes({
        token: this.token,
        sessionId,
        userId,
        signal: this.signal,
      }));
    }

    get appointments() {
      return this.stored.appointments;
    }

    get shipments() {
      return this.stored.shipments;
    }

    get payments() {
      return this.stored.payments;
    }

    get deliveries() {
      return this.stored.deliveries;
    }

    private get stored() {
      return (this.madeStored ??= perOperation.stored(this.signal));
    }

    me() {
      return (this.madeMe ??= perOperation.me(this.token, this.signal));
    }

    get tally() {
      return (this.madeTally ??= perOperation.tally());
    }

    tellLimits(limits: readonly RateLimit[]) {
      this.toldLimits = limits;
    }

    rateLimits() {
      const told = this.toldLimits ?? [];
      const ofNotes = (this.madeNotes ?? this.madeMe) && perOperation.notesLimit(this.token);
      return ofNotes ? [...told, ofNotes] : told;
    }

    prepareRerun() {
      if (!this.madeTally?.exceeded) this.madeTally = undefined;
    }

    abort() {
      this.signal.abort();
    }

    endSession() {
      if (this.caller) perOperation.endSession(this.caller.sessionId);
    }

    detached() {
      // Nothing that leads to the operation's client, which would be kept in memory.
      const { session, requestId } = this.request;
      return make({ session, requestId, signal: () => new LightAbortController(), hasLeft: () => false });
    }
  }
  Object.setPrototypeOf(Operation.prototype, shared);
  const make = (request: OperationRequest) => new Operation(request) as Operation & Shared;
  return make;
}
