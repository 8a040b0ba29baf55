import type { GraphQLResolveInfo } from 'graphql';
import type { AppointmentsContext } from './appointments/resolvers.js';
import type { Feed, Place } from './events/feed.js';
import type { NotesContext } from './notes/resolvers.js';
import type { PaymentsContext } from './payments/resolvers.js';
import type { SessionsContext } from './sessions/resolvers.js';
import type { Session } from './sessions/sessions.js';
import type { ShipmentsContext } from './shipments/resolvers.js';
import { Ending, type Signal } from './signal.js';

/** Counts, in one run of an operation, the rows of lists whose length is not known beforehand. */
export interface Tally {
  /** Whether the operation asks for too much, now that the list being resolved has so many more rows than reckoned. */
  exceeds(more: number, info: GraphQLResolveInfo): boolean;
  /** Whether it has been found to. */
  readonly exceeded: boolean;
}

/** What one operation has: the domains' slices, together. */
export type Context = SessionsContext &
  NotesContext &
  AppointmentsContext &
  ShipmentsContext &
  PaymentsContext & {
    readonly feed: Feed;
    /** A place in the log taken before anything else of the operation was read. */
    readonly logPlace: Place;
    /** Under which the operation is logged. */
    readonly requestId: string;
    readonly tally: Tally;
    /** To be called when the notes service no longer knows the session's token. */
    endSession(): void;
    /** To be called before a second run: the operation keeps what was read, and is counted anew unless exceeded. */
    beginAgain(): void;
    /** Drops what still waits to be done for it: the result is no longer wanted. */
    giveUp(): void;
    /** The same context for what outlives this operation: nothing ends it. */
    lasting(): Context;
  };

/** What a door knows of one operation. */
export interface Incoming {
  readonly session: Session | undefined;
  /** Makes the signal, aborted at the operation's end or deadline, or when its client is gone; called once at most. */
  readonly signal: () => Ending;
  /** The address of the client, by what trusted proxies tell of it; at a door where one may sign in. */
  readonly ip?: string;
  readonly requestId: string;
  readonly cookie?: Context['cookie'];
}

/** Makes what one operation has. */
export type MakeContext = (incoming: Incoming) => Context;

type CommonName =
  'sessions' | 'grantsOf' | 'appointments' | 'paymentsClient' | 'webhookSecrets' | 'feed' | 'cursors';

/** What all operations share. */
export type Common = Pick<Context, CommonName>;

/** How one operation reads the database, and what it reads so. */
type Stored = Pick<Context, 'reads' | 'shipments' | 'payments'>;

/** How an operation gets what is its own. */
export interface Own {
  me(token: string, signal: Signal): ReturnType<Context['me']>;
  notes(operation: {
    readonly token: string;
    readonly sessionId: string;
    readonly userId: string;
    readonly signal: Signal;
  }): Context['notes'];
  stored(signal: Signal): Stored;
  endSession(sessionId: string): void;
  tally(): Tally;
}

/** Makes contexts: what is an operation's own is made when it is first asked for. */
export function createContexts(common: Common, own: Own): MakeContext {
  // A class, since an object literal with getters is far costlier to make; Apollo Server copies its own members.
  class Operation implements Omit<Context, CommonName> {
    caller: Context['caller'];
    readonly requestId: string;
    readonly logPlace = common.feed.place();
    private readonly incoming: Incoming;
    private readonly token: string;
    private madeSignal: Ending | undefined;
    private madeNotes: Context['notes'] | undefined;
    private madeStored: Stored | undefined;
    private madeMe: ReturnType<Context['me']> | undefined;
    private madeTally: Tally | undefined;

    constructor(incoming: Incoming) {
      this.incoming = incoming;
      this.token = incoming.session?.notesToken ?? '';
      this.caller = incoming.session?.caller ?? null;
      this.requestId = incoming.requestId;
    }

    get ip() {
      return this.incoming.ip;
    }

    get cookie() {
      return this.incoming.cookie;
    }

    get signal(): Ending {
      return (this.madeSignal ??= this.incoming.signal());
    }

    get notes() {
      const { sessionId = '', userId = '' } = this.caller ?? {};
      return (this.madeNotes ??= own.notes({ token: this.token, sessionId, userId, signal: this.signal }));
    }

    get reads() {
      return this.stored.reads;
    }

    get shipments() {
      return this.stored.shipments;
    }

    get payments() {
      return this.stored.payments;
    }

    private get stored() {
      return (this.madeStored ??= own.stored(this.signal));
    }

    me() {
      return (this.madeMe ??= own.me(this.token, this.signal));
    }

    get tally() {
      return (this.madeTally ??= own.tally());
    }

    beginAgain() {
      if (!this.madeTally?.exceeded) this.madeTally = undefined;
    }

    giveUp() {
      this.signal.abort();
    }

    endSession() {
      own.endSession(this.caller?.sessionId ?? '');
    }

    lasting() {
      return make({ ...this.incoming, signal: () => new Ending() });
    }
  }
  Object.setPrototypeOf(Operation.prototype, common);
  const make = (incoming: Incoming) => new Operation(incoming) as Operation & Common;
  return make;
}
