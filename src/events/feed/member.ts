import type { LogEntry } from '../log/log.js';
import type { LogPosition } from '../log/log-position.js';
import type { Interest } from './selection.js';

/** Which entries concern a group, and how it renders them for its members: the same for all of them. */
export interface Rendering extends Interest {
  readonly view: View<unknown>;
  /** Makes a payload of what `view` has made; undefined of undefined. A failure is retried, and finally given up. */
  readonly run: (shown: unknown) => Payload | Promise<Payload>;
}

/** A rendered entry; undefined if the entry is excluded, or nobody waits for it any more. */
export type Payload = string | undefined;

/** Makes what a subscriber gets of an entry. Pure; `replayed` says whether the subscriber was still catching up. */
export type View<T> = (entry: LogEntry, replayed: boolean) => T;

/** In place of an iterator: graphql-js wants one of what a subscription's resolver returns, but nobody pulls updates. */
export function refuseToIterate(): never {
  throw new Error('Updates cannot be pulled: they are sent to the outlets of members.');
}

/** A subscriber that gets the payloads of a group, and is dropped once its client does not keep up. */
export interface Member {
  /** The number in the log after which to begin; undefined to begin at the log's end. */
  readonly after: number | undefined;
  /** Whose it is: past events are read for callers in turn. */
  readonly caller?: string | undefined;
  readonly outlet: Outlet;
  /** Nothing more comes: the feed has ended, the member's position is no longer kept, or an event is `Unrenderable`. */
  end(error?: unknown): void;
}

/** Where the updates of one subscription leave: an operation of a websocket, or a stream over HTTP. */
export interface Outlet {
  /**
   * Called once, when the subscription is established, with the cursor after which it begins; `passed` gives the
   * position in the log before which nothing is still to be sent, unless that is not known.
   */
  begin?(cursor: string | undefined, passed: () => LogPosition | undefined): void;
  /**
   * Sends an update for each payload, in order; `positions` has the positions just after their events. `done` is called
   * when all is written, or with why it is not. Consecutive calls with the same array of payloads share its bytes.
   */
  send(payloads: readonly string[], positions: readonly LogPosition[], done?: Done): void;
  /** A promise if past events have to wait, since much else waits for their client already. */
  untilRoom?(): Promise<void> | undefined;
  /** Whether a live update may be sent now; if too much waits for a slow client, this closes its connection. */
  hasRoom(): boolean;
  /** Closes the connection, so that the client resumes, at another replica if it can. */
  resumeElsewhere(): void;
}

/** Called when all is written, or with why it is not. */
export type Done = (error?: Error | null) => void;
