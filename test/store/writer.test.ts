import { describe, expect, test } from 'vitest';
import { openDatabase } from '../support/database.js';
import { createTestFile } from '../support/sqlite.js';
import { procedure } from './failing-procedure.js';
import { silent } from './open-database.js';

describe('the writer of an embedded database', () => {
  // Whether an answer or the failure just after it arrives first is a matter of chance: about once in three runs, an
  // answer that nobody waits for any more arrives last, and must not end the process.
  test.for(Array.from({ length: 8 }, (_, at) => at))(
    'is lost when its thread fails, and pending calls are rejected, whatever message comes last (%i)',
    async () => {
      const database = await openDatabase(await createTestFile(), { log: silent });
      const fail = await database.procedure(procedure, null);
      const remove = () => database.kysely.deleteFrom('keyv').execute();
      const asked = Array.from({ length: 50 }, (_, at) => (at % 2 === 0 ? remove() : fail(null)));
      const outcomes = await Promise.allSettled(asked);
      expect(outcomes.map(({ status }) => status)).toContain('rejected');
      expect((await database.lost).message).toBe('The thread has failed.');
    },
  );
});
