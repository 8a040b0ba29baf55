import { randomBytes } from 'node:crypto';
import type { GraphQLResolveInfo } from 'graphql';
import { expect, test } from 'vitest';
import { createNotesAccess } from '../../../src/domains/notes/notes.js';
import { tagConnection } from '../../../src/domains/notes/tags.js';
import type { NotesClient } from '../../../src/domains/notes/service/client.js';
import { createCursors } from '../../../src/graphql/cursors.js';
import { LightAbortController } from '../../../src/lib/async/abort.js';
import { createSealer } from '../../../src/lib/sealer.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';

test('fields with a cursor far down a long list of tags take no longer than one, with the first', async () => {
  const cursors = createCursors(createSealer([randomBytes(32)]));
  const nameAt = (at: number) => `tag-number-${String(at).padStart(6, '0')}`;
  const tags = Array.from({ length: 90_000 }, (_, at) => ({
    kind: 'Tag' as const,
    name: nameAt(at),
    count: 1,
  }));
  const client = { tags: () => Promise.resolve(tags) } as Partial<NotesClient> as NotesClient;
  const caller = { sessionId: '', userId: 'u', email: '', grants: new Set<never>() };
  const operation = { ...caller, token: '', signal: new LightAbortController() };
  const notes = createNotesAccess({ client, cursors, telemetry: createTelemetry('silent') })(operation);
  const after = cursors.seal({ connection: 'tags', userId: 'u' }, [nameAt(89_000), 89_000]);
  const info = { fieldNodes: [], fragments: {} } as Partial<GraphQLResolveInfo> as GraphQLResolveInfo;
  const before = process.cpuUsage();
  for (let at = 0; at < 200; at += 1) {
    const page = await tagConnection({ caller, cursors }, { first: 100, after }, info, () => notes.tagRows());
    expect(page.edges.map(({ cursor }) => cursor)).toHaveLength(100);
    expect(page.nodes[0]?.name).toBe(nameAt(89_001));
  }
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000);
});
