import { expect, test, vi } from 'vitest';
import { pino } from 'pino';
import { openDatabase } from '../support/database.js';
import { createTestFile } from '../support/sqlite.js';

const fault = vi.hoisted(() => ({ ofReaders: false }));

vi.mock(import('@photostructure/sqlite'), async (importOriginal) => {
  const original = await importOriginal();
  function open(...[path, options]: ConstructorParameters<typeof original.DatabaseSync>) {
    if (fault.ofReaders && options?.readOnly) throw new Error('there are no file descriptors left');
    return new original.DatabaseSync(path, options);
  }
  return { ...original, DatabaseSync: open as unknown as typeof original.DatabaseSync };
});

test('lets go of a database that can be written, but not be read', async () => {
  const url = await createTestFile();
  const options = { log: pino({ level: 'silent' }) };
  fault.ofReaders = true;
  await expect(openDatabase(url, options)).rejects.toThrow(
    expect.objectContaining({ message: expect.stringMatching(/no file descriptors left/) }),
  );
  fault.ofReaders = false;
  const database = await openDatabase(url, options);
  await database.ping();
  await database.stop();
});
