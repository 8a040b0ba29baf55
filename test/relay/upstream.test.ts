import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestbed, type Testbed } from '../support/testbed.js';
import { disturb, createNotes } from './changing-notes.js';
import { disturbances } from './disturbances.js';

/** What apis/notes.md leaves open: the maximum `limit`, and what happens to a greater one. */
const limits = [
  { max: 20, mode: 'reject' },
  { max: 50, mode: 'reject' },
  { max: 20, mode: 'clamp' },
  { max: 50, mode: 'clamp' },
  { max: 7, mode: 'clamp' },
] as const;

const query = `query ($first: Int, $after: String) {
  notes(first: $first, after: $after) { nodes { upstreamId } pageInfo { hasNextPage endCursor } }
}`;

describe.for(limits)('a notes service with pages of $max at most ($mode)', ({ max, mode }) => {
  let testbed: Testbed;

  beforeAll(async () => {
    testbed = await startTestbed();
    Object.assign(testbed.sandbox.notes.pageLimit, { max, mode });
  });

  afterAll(() => testbed.stop());

  /** Reads all pages of `first` notes; returns the ids on each. */
  async function pages(token: string, first: number, between = () => {}): Promise<string[][]> {
    const seen: string[][] = [];
    for (let after: string | null = null; ; between()) {
      const { data, errors } = await testbed.ask(query, { first, after }, token);
      expect(errors).toBeUndefined();
      const { nodes, pageInfo } = data.notes;
      seen.push(nodes.map(({ upstreamId }: { upstreamId: string }) => upstreamId));
      if (!pageInfo.hasNextPage) return seen;
      after = pageInfo.endCursor;
      expect(seen.length).toBeLessThan(100);
    }
  }

  test.for(['null', 'empty', 'absent', 'repeated'] as const)(
    'leads to full pages of any size if its last next_cursor is %s',
    async (atEnd) => {
      testbed.sandbox.notes.nextCursorAtEnd = atEnd;
      const { token, originals } = await createNotes(testbed, 120);
      for (const first of [5, 20, 50, 100]) {
        const seen = await pages(token, first);
        expect(seen.flat()).toEqual(originals);
        const full = Math.ceil(120 / first) - 1;
        expect(seen.slice(0, full).map(({ length }) => length)).toEqual(Array(full).fill(first));
        // That a full page is the last may only be known after an empty one behind it.
        expect(seen.slice(full).flat()).toHaveLength(120 - full * first);
        expect(seen.length - full).toBeLessThanOrEqual(2);
      }
    },
  );

  test.for([5, 20, 50, 100])(
    'leads to pages of %i without gaps or repeats while notes are inserted and deleted',
    async (first) => {
      const walk = fc.asyncProperty(disturbances(110), async (changes) => {
        const notes = await createNotes(testbed, 110);
        const changing = disturb(notes, changes);
        expect(changing.faults((await pages(notes.token, first, changing.next)).flat())).toEqual([]);
      });
      await fc.assert(walk, { numRuns: Number(process.env['RUNS'] ?? 2) });
    },
  );
});
