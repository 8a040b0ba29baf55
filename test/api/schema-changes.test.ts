import { readFileSync } from 'node:fs';
import { buildSchema, findBreakingChanges } from 'graphql';
import { expect, test } from 'vitest';
import { clientSdl } from '../../src/api/schema-text.js';

const released = readFileSync('test/api/released.graphql', 'utf8');
const changelog = readFileSync('CHANGELOG.md', 'utf8');
const current = clientSdl(new URL('../../schema/', import.meta.url));

/** What breaks clients of the `before`, and whose type no entry of the coming release marks as **Breaking**. */
function untoldBreaks(before: string, after: string, changes: string): readonly string[] {
  const [, coming = ''] = changes.split(/^## /m);
  const told = coming.split(/^- /m).filter((entry) => entry.startsWith('**Breaking:**'));
  return findBreakingChanges(buildSchema(before), buildSchema(after))
    .map(({ description }) => description)
    .filter((change) => !told.some((entry) => entry.includes(`\`${/^\w+/.exec(change)![0]}\``)));
}

test('what breaks clients since the last release is told in the changelog, by the name of its type', () => {
  expect(untoldBreaks(released, current, changelog)).toEqual([]);
});

test('a breaking change that the changelog does not name is found', () => {
  const before = 'type Query { note(id: ID!): String, notes: [String] }';
  const after = 'type Query { note(id: ID!, tag: String!): String }';
  const changes =
    '# Changes\n## Unreleased\n- **Breaking:** `Note` has gone.\n- `Query` has changed.\n## 1.0.0\n';
  expect(untoldBreaks(before, after, changes)).toEqual([
    expect.stringContaining('Query.notes'),
    expect.stringContaining('tag'),
  ]);
});
