import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/store/database.js';
import { createTestFile } from '../support/engines.js';
import { procedure } from './failing-procedure.js';
import { silent } from './opened.js';

describe('the writer of an embedded database', () => {
  test('is lost with its thread, and what waits is told so', async () => {
    const { kysely, lost, procedure: load } = await openDatabase(await createTestFile(), { log: silent });
    const fail = await load(procedure, null);
    const asked = Array.from({ length: 50 }, (_, at) =>
      at % 2 ? fail(null) : kysely.deleteFrom('keyv').execute(),
    );
    const outcomes = await Promise.allSettled(asked);
    expect(outcomes.map(({ status }) => status)).toContain('rejected');
    expect((await lost).message).toBe('The thread has failed.');
  });
});
