import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { maxManifestBytes, readManifest, sha256 } from '../../../src/server/documents/manifest.js';

const folder = mkdtempSync(join(tmpdir(), 'trivium-'));
const file = join(folder, 'manifest.json');
afterAll(() => rmSync(folder, { recursive: true }));

const query = 'query Place { liveCursor }';
const other = 'query Me { viewer { id } }';
const hash = (algorithm: string, text: string) => createHash(algorithm).update(text).digest('hex');

function read(content: unknown, own?: readonly string[]) {
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return readManifest(file, own);
}

const apollo = (...operations: object[]) => ({
  format: 'apollo-persisted-query-manifest',
  version: 1,
  operations,
});

test.each([
  ["Apollo's", apollo({ id: sha256(query), name: 'Place', type: 'query', body: query }), sha256(query)],
  ["Relay's", { [hash('md5', query)]: query }, hash('md5', query)],
  ["Code Generator's", { [hash('sha1', query)]: query }, hash('sha1', query)],
  ["Code Generator's, of SHA-256", { [sha256(query)]: query }, sha256(query)],
  ['one with ids of another kind', { 'place/1': query }, 'place/1'],
])('%s manifest is read, and its documents are found by id and by SHA-256', async (_, content, id) => {
  const manifest = await read(content);
  expect(manifest.size).toBe(1);
  expect(manifest.find(id)).toBe(query);
  expect(manifest.find(`sha256:${sha256(query)}`)).toBe(query);
  expect(manifest.find('toString')).toBeUndefined();
});

test('a document is the same, however it is laid out, and no other one is', async () => {
  const { canonical } = await read({ a: query }, [other]);
  const laidOut = 'query Place { # where\n  liveCursor, }';
  expect(canonical(laidOut)).toBe(canonical(query));
  expect(canonical(other)).toBeDefined();
  expect(['query Place { liveCursor viewer { id } }', 'query Place {', ''].map(canonical)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test('a document is the same, however many blanks and comments it has', async () => {
  const { canonical } = await read({ a: query });
  const pretty = `# ${'Where the log ends. '.repeat(100)}\n${query.replaceAll(' ', '\n'.repeat(100))}`;
  expect(canonical(pretty)).toBe(canonical(query));
  expect(canonical(`${pretty} ${other}`)).toBeUndefined();
});

test('a document is the same in whatever order its definitions stand, and no other one is', async () => {
  const row = 'fragment Row on Note { id ...Title }';
  const title = 'fragment Title on Note { title }';
  const list = 'query List($f: F = {a: "}"}) { notes(filter: $f, b: """{""") { nodes { ...Row } } }';
  const { canonical } = await read({ a: `${list} ${row} ${title}`, b: `${query} ${other}` });
  const listed = canonical(`${list} ${row} ${title}`);
  expect(listed).toBeDefined();
  expect(canonical(`${list} ${title} ${row}`)).toBe(listed);
  expect(canonical(`${title}\n# first\n${row},${list}`)).toBe(listed);
  expect(canonical(`${other} ${query}`)).toBe(canonical(`${query} ${other}`));
  const strangers = [
    `${list} ${row}`,
    `${list} ${title} ${row} ${title}`,
    `${list} ${title} ${row} ${other}`,
    `${list} ${title.replace('title', 'content')} ${row}`,
    `${list} ${title} ${row} }`,
    `${list} ${title} fragment Row on Note { ...Title id }`,
  ];
  expect(strangers.map(canonical)).toEqual(strangers.map(() => undefined));
});

test('what stands in a string is no definition', async () => {
  const { canonical } = await read({ a: '{ a(b: "} fragment A on B { a }") }' });
  expect(canonical('fragment A on B { a } { a(b: "}") }')).toBeUndefined();
});

test.each<[string, unknown, string]>([
  ['nothing', '', 'is empty'],
  ['half a file', JSON.stringify({ a: query }).slice(0, -5), 'is not JSON, or not all of it'],
  ['a list', [], 'is not a JSON object'],
  ['no documents', {}, 'has no documents'],
  ["no operations in Apollo's", apollo(), 'has no documents'],
  ['another format', { ...apollo(), format: 'mine' }, 'has the format "mine", version 1;'],
  ['a later version', { ...apollo(), version: 2 }, 'version 2;'],
  ['an operation without a body', apollo({ id: 'a' }), 'no strings `id` and `body` in operation 1'],
  ['a document that is no text', { a: { query } }, 'has no document as a string for "a"'],
  ['a document that is not GraphQL', { a: '"' }, 'has no GraphQL document for the id "a"'],
  ['an id twice', `{"a": ${JSON.stringify(query)}, "a": ${JSON.stringify(other)}}`, 'has an id twice'],
  [
    "an id twice in Apollo's",
    apollo({ id: 'a', body: query }, { id: 'a', body: other }),
    'has two documents for the id "a"',
  ],
  [
    'the digest of another document as id',
    { [sha256(other)]: query, b: other },
    'has two documents for the id',
  ],
])('a manifest with %s is refused', async (_, content, reason) => {
  await expect(read(content)).rejects.toThrow(reason);
});

test('a manifest of 50 MB is refused before it is read, and one that is not UTF-8', async () => {
  writeFileSync(file, '');
  truncateSync(file, 50_000_000);
  await expect(readManifest(file)).rejects.toThrow(
    `has 50000000 bytes; at most ${maxManifestBytes} are read`,
  );
  writeFileSync(file, Buffer.from([0x7b, 0xff, 0x7d]));
  await expect(readManifest(file)).rejects.toThrow('is not UTF-8');
});
