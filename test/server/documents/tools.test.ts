import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parse, print, visit } from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readManifest, sha256 } from '../../../src/server/documents/manifest.js';

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'trivium-'));
const mine = 'query MineQuery { viewer { id email } }';
const where = 'query WhereQuery { liveCursor }';

beforeAll(() => {
  mkdirSync(join(folder, 'src'));
  mkdirSync(join(folder, 'relay'));
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  copyFileSync('src/generated/schema.graphql', join(folder, 'schema.graphql'));
  const files = {
    'package.json': '{}',
    'src/mine.graphql': mine,
    'src/where.graphql': where,
    'relay/Mine.js': `graphql\`${mine}\`;\n`,
    'relay/Where.js': `graphql\`${where}\`;\n`,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The program of a package that is installed here. */
const programOf = (name: string, path: string) =>
  join(dirname(require.resolve(`${name}/package.json`)), path);

const codegen = (hashAlgorithm: string) => ({
  program: programOf('@graphql-codegen/cli', 'cjs/bin.js'),
  args: ['--config', `${hashAlgorithm}.json`],
  config: {
    [`${hashAlgorithm}.json`]: {
      schema: 'schema.graphql',
      documents: 'src/*.graphql',
      generates: {
        [`${hashAlgorithm}/`]: { preset: 'client', presetConfig: { persistedDocuments: { hashAlgorithm } } },
      },
    },
  },
  manifest: `${hashAlgorithm}/persisted-documents.json`,
});

/** Each tool; the form of its ids is read from what it wrote. */
const tools = {
  "Apollo's": {
    program: programOf('@apollo/generate-persisted-query-manifest', 'cli.js'),
    args: [],
    config: {},
    manifest: 'persisted-query-manifest.json',
  },
  "Relay's": {
    program: require.resolve('relay-compiler/cli.js'),
    args: ['relay.config.json'],
    config: {
      'relay.config.json': {
        src: './relay',
        schema: './schema.graphql',
        language: 'javascript',
        eagerEsModules: false,
        persistConfig: { file: './persisted.json', algorithm: 'MD5' },
      },
      'persisted.json': {},
    },
    manifest: 'persisted.json',
  },
  "Code Generator's, by SHA-1": codegen('sha1'),
  "Code Generator's, by SHA-256": codegen('sha256'),
};

/** The text as Apollo and Relay may have it, with `__typename` and in another layout. */
const plain = (text: string) =>
  print(visit(parse(text), { Field: ({ name }) => (name.value === '__typename' ? null : undefined) }));

test.each(Object.entries(tools))('%s manifest is read, and its ids are found', async (_, tool) => {
  for (const [name, content] of Object.entries(tool.config))
    writeFileSync(join(folder, name), JSON.stringify(content));
  await run(process.execPath, [tool.program, ...tool.args], { cwd: folder });
  const path = join(folder, tool.manifest);
  const content = (await import(path, { with: { type: 'json' } })) as { readonly default: unknown };
  const ids = idsIn(content.default);
  const manifest = await readManifest(path);
  expect(manifest.size).toBe(2);
  const texts = ids.map((id) => manifest.find(id)!);
  const fields = texts.map((text) => plain(text).match(/liveCursor|email/)?.[0]);
  expect(new Set(fields)).toEqual(new Set(['email', 'liveCursor']));
  for (const text of texts) expect(manifest.find(`sha256:${sha256(text)}`)).toBe(text);
});

function idsIn(content: unknown): readonly string[] {
  const { operations } = content as { readonly operations?: readonly { readonly id: string }[] };
  return operations?.map(({ id }) => id) ?? Object.keys(content as object);
}
