import { serveWriter } from '../store/sqlite/sqlite-worker.js';
import { procedure as recordDeliveries } from './recording.js';

// The program of the thread that writes an embedded database; `gateway.ts` has its address.
serveWriter([recordDeliveries]);
