import type { AppointmentsContext } from './appointments/resolvers.js';
import type { Feed, Place } from './events/feed.js';
import type { NotesContext } from './notes/resolvers.js';
import type { PaymentsContext } from './payments/resolvers.js';
import type { SessionsContext } from './sessions/resolvers.js';
import type { ShipmentsContext } from './shipments/resolvers.js';

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
    /** To be told when the notes service no longer knows the session's token. */
    readonly endSession: () => void;
  };
