import { recordDeliveries } from '../../src/api/webhook-families.js';
import { serveWriter } from '../../src/store/sqlite/sqlite-writer.js';
import { procedure as recordTestDeliveries } from '../events/test-fold.js';
import { procedure as fail } from '../store/failing-procedure.js';

// The program of the thread that writes an embedded database in tests, with the tests' own procedures.
serveWriter([recordDeliveries, recordTestDeliveries, fail]);
