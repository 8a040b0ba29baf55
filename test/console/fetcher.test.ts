import { expect, test } from 'vitest';
import { selected } from '../../src/console/explorer/fetcher.js';

const updates = 'shipmentUpdates { cursor }';

test.each([
  ['declares it', `subscription Mine($after: String) { ${updates} }`, true],
  ['does not', `subscription Mine { ${updates} }`, false],
  ['names it in a comment', `# not with $after: String\nsubscription Mine { ${updates} }`, false],
  [
    'is beside one that does',
    `subscription Mine { ${updates} } query Page($after: String) { shipments(after: $after) { nodes { id } } }`,
    false,
  ],
  ['cannot be read', 'subscription Mine($after: String) {', false],
])('a subscription goes on after a cursor only if it declares `$after`: one that %s', (_, query, resumes) => {
  expect(selected({ query, operationName: 'Mine' }).resumes).toBe(resumes);
});
