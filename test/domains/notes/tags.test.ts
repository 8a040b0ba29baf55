import { randomBytes } from 'node:crypto';
import type { GraphQLResolveInfo } from 'graphql';
import { expect, test } from 'vitest';
import { byName, tagConnection, toRows } from '../../../src/domains/notes/tags.js';
import { createCursors } from '../../../src/graphql/relay/relay.js';
import { createSealer } from '../../../src/lib/sealer.js';

test('a cursor far down a long list of tags takes no longer than one of the first', async () => {
  const cursors = createCursors(createSealer([randomBytes(32)]));
  const nameAt = (at: number) => `tag-number-${String(at).padStart(6, '0')}`;
  const tags = Array.from({ length: 30_000 }, (_, at) => ({
    kind: 'Tag' as const,
    name: nameAt(at),
    count: 1,
  }));
  const rows = toRows(byName(tags));
  const after = cursors.seal({ connection: 'tags', userId: 'u' }, [nameAt(29_000), 29_000]);
  const info = { fieldNodes: [], fragments: {} } as Partial<GraphQLResolveInfo> as GraphQLResolveInfo;
  const before = process.cpuUsage();
  for (let at = 0; at < 200; at += 1) {
    const page = await tagConnection(cursors, 'u', { first: 100, after }, info, () => Promise.resolve(rows));
    expect(page.edges.map(({ cursor }) => cursor)).toHaveLength(100);
    expect(page.nodes[0]?.name).toBe(nameAt(29_001));
  }
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000);
});
