import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestbed, type Testbed } from '../support/testbed.js';
import { operations, type Before, type Costed } from './operations.js';

let testbed: Testbed;
let token: string;
let before: Before;

beforeAll(async () => {
  testbed = await startTestbed();
  token = await testbed.signIn();
  await testbed.sandbox.webhooks.emitShipment({ shipment: { id: 'shp_calls' } });
  before = await readBefore(await testbed.signIn());
});

afterAll(() => testbed.stop());

/** Reads the operations' variables in another session, so that the measured session has seen none of it. */
async function readBefore(other: string): Promise<Before> {
  const { data } = await testbed.ask(
    `{ viewer { id } notes(first: 40) { nodes { id } } shipment(shipmentId: "shp_calls") { id }
       tags { nodes { name } } page: notes(first: 20) { pageInfo { endCursor } } }`,
    {},
    other,
  );
  const ids: string[] = data.notes.nodes.map(({ id }: { id: string }) => id);
  expect(ids).toHaveLength(40);
  return {
    seen: ids.slice(0, 20),
    unseen: ids.slice(20),
    endCursor: data.page.pageInfo.endCursor,
    tag: data.tags.nodes[0].name,
    user: data.viewer.id,
    shipment: data.shipment.id,
  };
}

/** The calls of one operation, sorted; ids in paths are replaced by `:id`. */
async function callsOf({ document, variables }: Costed): Promise<readonly string[]> {
  const start = testbed.sandbox.calls.length;
  const { data, errors } = await testbed.ask(document, variables?.(before), token);
  expect(errors).toBeUndefined();
  expect(Object.values(data)).not.toContain(null);
  const calls = testbed.sandbox.calls.slice(start);
  return calls
    .map(
      ({ method, path }) =>
        `${method} ${path.replace(/\?.*/, '').replace(/(notes|webhooks)\/[^/]+/, '$1/:id')}`,
    )
    .toSorted();
}

test.each(operations)('$operation', async (costed) => {
  expect(await callsOf(costed)).toEqual(costed.calls);
});

describe('the table of what operations cost', () => {
  const heads = ['operation', 'calls to the services', 'why no fewer will do'];
  const rows = operations.map(({ operation, calls, why }) => [operation, counted(calls), why]);

  /** `2 × GET /notes, GET /tags`. */
  function counted(calls: readonly string[]): string {
    const names = [...new Set(calls)].map((name) => {
      const count = calls.filter((call) => call === name).length;
      return `${count > 1 ? `${count} × ` : ''}${name}`;
    });
    return names.map((name) => `\`${name}\``).join(', ') || 'none';
  }

  test('is the one in the docs', () => {
    const lines = readFileSync('docs/decisions/operation-calls.md', 'utf8').split('\n');
    const head = lines.findIndex((line) => line.includes(heads.at(-1)!));
    const end = lines.findIndex((line, index) => index > head && !line.startsWith('|'));
    const cells = (line: string) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim());
    const documented = lines.slice(head, end).map(cells);
    const table = [heads, heads.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
    // oxlint-disable-next-line no-console -- the table is what this file is read for
    console.log(table);
    expect(
      documented.filter((_, index) => index !== 1),
      `docs/decisions/operation-calls.md should say:\n${table}`,
    ).toEqual([heads, ...rows]);
  });

  test('lists each operation once', () => {
    expect(new Set(operations.map(({ operation }) => operation)).size).toBe(operations.length);
    expect(operations.length).toBeGreaterThanOrEqual(20);
  });
});
