import type { LogPosition } from '../../events/log/log-position.js';

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
