import { serveWriter } from '../store/sqlite/sqlite-writer.js';
import { recordDeliveries } from './webhook-families.js';

// The program of the thread that writes an embedded database; `gateway.ts` has its address.
serveWriter([recordDeliveries]);
