// A process of its own that opens the database at argv[2] and prints `open`, or the error. With a count in argv[3] it
// then writes that many rows, one per transaction, and prints the number of each once it is acknowledged.
import { pino } from 'pino';
import { openDatabase } from '../support/database.js';

const [, , url = '', count = '0'] = process.argv;
try {
  const { kysely } = await openDatabase(url, { log: pino({ level: 'silent' }) });
  process.stdout.write('open\n');
  for (let i = 1; i <= Number(count); i++) {
    await kysely
      .insertInto('keyv')
      .values({ key: String(i), value: 'child', expires_at: i })
      .execute();
    process.stdout.write(`${i}\n`);
  }
} catch (error) {
  process.stdout.write(`${(error as Error).message}\n`);
  process.exit(1);
}
