import type { Caller } from '../../graphql/caller.js';

/** A live session: its caller, and the notes token, which must not leave the server. */
export interface Session {
  readonly caller: Caller;
  readonly notesToken: string;
  /** Milliseconds since the epoch: when the notes token expires, and the session with it. */
  readonly expiresAt: number;
}
