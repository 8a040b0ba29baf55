import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { readManifest, sha256 } from '../../src/server/documents/manifest.js';

const fragment = 'fragment Parts on Note { id title }';
const query = 'query Mine { notes(first: 1) { nodes { ...Parts } } }';

/** Makes a manifest of these files in a folder: printed, or as this file in it. */
function make(files: Readonly<Record<string, string>>, output?: string) {
  const folder = mkdtempSync(join(inject('testDirectory'), 'documents-'));
  mkdirSync(join(folder, 'deep'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const options = output === undefined ? [] : ['--output', join(folder, output)];
  const ran = spawnSync(process.execPath, ['.ci/documents.js', folder, ...options], { encoding: 'utf8' });
  return { ...ran, folder };
}

test('makes a manifest from files, each operation with the fragments that it needs', async () => {
  const { status, stdout, folder } = make({
    'mine.graphql': `${query} query Name { viewer { name } }`,
    'deep/parts.graphql': fragment,
    'other.txt': 'not a document',
  });
  expect(status).toBe(0);
  const path = join(folder, 'manifest.json');
  writeFileSync(path, stdout);
  const manifest = await readManifest(path);
  expect(manifest.canonical(`${query} ${fragment}`)).toBeDefined();
  const asCached = `query Mine { notes(first: 1) { nodes { ...Parts __typename } __typename } } ${fragment.replace('}', '__typename }')}`;
  expect(manifest.canonical(asCached)).toBeDefined();
  expect(manifest.size).toBe(4);
  const [[id, text]] = Object.entries(JSON.parse(stdout) as Record<string, string>) as [[string, string]];
  expect([id, manifest.find(id)]).toEqual([sha256(text), text]);
});

/** The texts of a manifest that was printed. */
const textsIn = (stdout: string) => Object.values(JSON.parse(stdout) as Record<string, string>);

const lists = 'query Lists { shipments { nodes { ...ShipmentParts } } notes { nodes { ...NoteParts } } }';

test("knows the client package's fragments, lists those that are used, and prefers those of the files", () => {
  const { status, stderr, stdout } = make({
    'lists.graphql': lists,
    'own.graphql': 'fragment ShipmentParts on Shipment { carrier } fragment Unused on Note { id }',
  });
  expect([status, stderr]).toEqual([0, '']);
  const [text] = textsIn(stdout);
  const named = new Set(text!.match(/(?<=^fragment )\w+/gm));
  expect(named).toEqual(new Set(['NoteParts', 'ShipmentParts']));
  expect(text).toContain('fragment ShipmentParts on Shipment {\n  carrier\n}');
});

test('takes the fragments of the package as a file, too', () => {
  const operations = readFileSync('src/client/operations.graphql', 'utf8');
  const fragments = operations.match(/^fragment [^]*?^\}/gm)!.join('\n');
  const { status, stdout } = make({ 'lists.graphql': lists, 'fragments.graphql': fragments });
  expect([status, stdout]).toEqual([0, make({ 'lists.graphql': lists }).stdout]);
});

test('writes a file as a whole, and none if there is a fault', () => {
  const made = make({ 'lists.graphql': lists }, 'manifest.json');
  expect([made.status, made.stdout]).toEqual([0, '']);
  expect(readFileSync(join(made.folder, 'manifest.json'), 'utf8')).toBe(
    make({ 'lists.graphql': lists }).stdout,
  );
  for (const [text, output, told] of [
    ['query A { nothing }', 'manifest.json', /Cannot query field "nothing"/],
    [lists, 'missing/manifest.json', /^ENOENT.*missing/],
  ] as const) {
    const { status, stderr, folder } = make({ 'a.graphql': text }, output);
    expect(status).toBe(1);
    expect(stderr).toMatch(told);
    expect(readdirSync(folder)).toEqual(['a.graphql', 'deep']);
  }
});

test.each([
  [
    'a field that is not there',
    { 'a.graphql': 'query A { nothing }' },
    /Cannot query field "nothing".*a\.graphql:1:11/s,
  ],
  ['a text that is no document', { 'a.graphql': 'query A {' }, /Syntax Error.*a\.graphql:1/s],
  ['an operation without a name', { 'a.graphql': '{ __typename }' }, /a\.graphql has no name/],
  [
    'two of one name',
    { 'a.graphql': query, 'b.graphql': query, 'c.graphql': fragment },
    /only one operation named "Mine"/,
  ],
  ['none at all', { 'a.graphql': fragment }, /There is no operation/],
] as const)('tells where there is %s', (_, files, told) => {
  const { status, stdout, stderr } = make(files);
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(told);
});
