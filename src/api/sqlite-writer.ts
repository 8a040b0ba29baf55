import { procedure as recordBookings } from '../domains/appointments/store/booking-transaction.js';
import { serveWriter } from '../store/sqlite/sqlite-worker.js';
import { procedure as recordDeliveries } from './recording.js';

// The program of the thread that writes an embedded database; `gateway.ts` has its address.
serveWriter([recordDeliveries, recordBookings]);
