import { serveWriter } from '../store/sqlite/sqlite-worker.js';
import { recordDeliveries } from './webhook-families.js';

// The program of the thread that writes an embedded database; `gateway.ts` has its address.
serveWriter([recordDeliveries]);
