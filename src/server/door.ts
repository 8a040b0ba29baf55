import type { Context } from '../context.js';
import type { Session } from '../sessions/sessions.js';

/** What a door knows of one operation. */
export interface Incoming {
  readonly session: Session | undefined;
  readonly signal: AbortSignal;
  readonly ip: string;
  readonly requestId: string;
  readonly cookie?: Context['cookie'];
}

/** Makes what one operation has. */
export type MakeContext = (incoming: Incoming) => Context;
