import type { KyselyPlugin } from 'kysely';
import { describe, expect, test } from 'vitest';
import { createBookings } from '../../src/appointments/bookings.js';
import { procedure } from '../../src/appointments/commit.js';
import { LightAbortController } from '../../src/signal.js';
import type { Database } from '../../src/store/database.js';
import { Reads } from '../../src/store/reads.js';
import { open } from '../store/open-database.js';
import { engines } from '../support/engines.js';
import { bookingOf } from './booking-row.js';

const mebibyte = 1024 * 1024;

/** The same database, and how many characters each statement has read since. */
function recordLengths(given: Database) {
  const lengths: number[] = [];
  const recorder: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      const values = result.rows.flatMap((row) => Object.values(row));
      lengths.push(values.reduce<number>((sum, value) => sum + String(value).length, 0));
      return result;
    },
  };
  return { database: { ...given, kysely: given.kysely.withPlugin(recorder) }, lengths };
}

describe.each(engines)('bookings on %s', (_, freshUrl) => {
  const start = async () => {
    const { database, lengths } = recordLengths(await open(await freshUrl()));
    const commit = await database.procedure(procedure, null);
    /** How many steps each commit has had. */
    const commits: number[] = [];
    const bookings = createBookings(database, (steps) => {
      commits.push(steps.length);
      return commit(steps);
    });
    return { lengths, commits, bookings };
  };

  test('are stored, although the database refuses one of the same batch', async () => {
    const { bookings } = await start();
    const given = ['a', 'b', 'c', 'd'].map((id) => bookingOf(id, { idempotency_key: id }));
    const refused = bookingOf('x', { user_id: null as unknown as string });
    const settled = await Promise.allSettled([...given, refused].map(bookings.insert));
    expect(settled.map(({ status }) => status)).toEqual([...given.map(() => 'fulfilled'), 'rejected']);
    for (const { user_id, id } of given) expect(await bookings.withKey(user_id, id)).toMatchObject({ id });
  });

  describe('with long texts', () => {
    /** Nine bookings, newest first; the texts of every third are short, those of the others have a MiB. */
    const given = Array.from({ length: 9 }, (__, at) => {
      const id = `b${at}`;
      const half = String(at).repeat(mebibyte / 2);
      const long = at % 3 === 0 ? {} : { start_text: half, end_text: half };
      return bookingOf(id, { idempotency_key: id, booked_at: 100 - at, ...long });
    });
    const readsOf = (mebibytes?: number) => new Reads(new LightAbortController(), mebibytes);
    const fill = async () => {
      const started = await start();
      await Promise.all(given.map(started.bookings.insert));
      started.lengths.length = 0;
      return started;
    };
    const page = { backward: false, limit: 8 };

    test('are stored by themselves', async () => {
      const { commits } = await fill();
      expect(commits).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1]);
    });

    test('are read in steps', async () => {
      const { bookings, lengths } = await fill();
      const shown = ({ id, start_text, end_text, participants }: (typeof given)[number]) => ({
        id,
        start_text,
        end_text,
        participants,
      });
      const listed = await bookings.list(page, readsOf());
      expect(listed.map(shown)).toEqual(given.slice(0, 8).map(shown));
      const found = await Promise.all(given.map(({ user_id, id }) => bookings.withKey(user_id, id)));
      expect(found.map((booking) => shown(booking!))).toEqual(given.map(shown));
      expect(Math.max(...lengths)).toBeLessThan(4.5 * mebibyte);
      expect(lengths.length).toBeGreaterThan(4);
    });

    test('are not read beyond what one operation may read', async () => {
      const { bookings, lengths } = await fill();
      await expect(bookings.list(page, readsOf(5))).rejects.toMatchObject({ code: 'QUERY_TOO_COMPLEX' });
      expect(Math.max(...lengths)).toBeLessThan(mebibyte);
      const reads = readsOf(1.5);
      expect(await bookings.find('b1', reads)).toBeDefined();
      await expect(bookings.find('b2', reads)).rejects.toMatchObject({ code: 'QUERY_TOO_COMPLEX' });
    });

    test('make room in a page for others if one is erased meanwhile', async () => {
      const { bookings, lengths } = await fill();
      const reads = readsOf();
      const next = reads.next.bind(reads);
      reads.next = async (read) => {
        if (lengths.length === 2) await bookings.erase(given[1]!);
        return next(read);
      };
      const expected = given.filter(({ id }) => id !== 'b1').map(({ id }) => id);
      expect((await bookings.list(page, reads)).map(({ id }) => id)).toEqual(expected);
    });
  });
});
