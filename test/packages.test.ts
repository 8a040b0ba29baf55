import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { parseSync } from 'vite';
import { expect, test } from 'vitest';

/** The modules of the gateway, which lie in no folder but for the programs of threads. */
const modules = ['dist', 'dist/api', 'dist/lib/telemetry'].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.js'))
    .map((name) => join(folder, name)),
);

/** The packages that a module imports, now or later. */
function packagesOf(file: string): readonly string[] {
  const text = readFileSync(file, 'utf8');
  const { staticImports, dynamicImports } = parseSync(file, text).module;
  const later = dynamicImports
    .map(({ moduleRequest: { start, end } }) => text.slice(start, end))
    .filter((source) => /^["']/.test(source))
    .map((source) => source.slice(1, -1));
  const names = [...staticImports.map(({ moduleRequest }) => moduleRequest.value), ...later];
  return names.filter((name) => !name.startsWith('.') && !isBuiltin(name));
}

test('the build bundles all packages that it uses, except native code', () => {
  expect(modules.length).toBeGreaterThan(10);
  expect([...new Set(modules.flatMap(packagesOf))].toSorted()).toEqual(['@photostructure/sqlite']);
});

test('the build contains a single copy of graphql', () => {
  const copies = modules.flatMap((file) => readFileSync(file, 'utf8').match(/class GraphQLError\b/g) ?? []);
  expect(copies).toHaveLength(1);
});

/** The packages whose code is in a module, by its source map. */
function bundledIn(file: string): readonly string[] {
  const { sources } = JSON.parse(readFileSync(`${file}.map`, 'utf8')) as { readonly sources: string[] };
  return sources.flatMap((source) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1] ?? []);
}

test('the licence of each package in the build is beside it', () => {
  const licences = (folder: string) =>
    [...readFileSync(join(folder, 'licenses.md'), 'utf8').matchAll(/^## (\S+) - /gm)].map(
      ([, name]) => name!,
    );
  const bundled = [...new Set(modules.filter((file) => existsSync(`${file}.map`)).flatMap(bundledIn))];
  expect(bundled).toEqual(expect.arrayContaining(['fastify', '@opentelemetry/core']));
  expect(bundled.filter((name) => !licences('dist').includes(name))).toEqual([]);
  expect(licences('dist/console')).toContain('react');
  expect(licences('dist/client')).toContain('graphql-ws');
});
