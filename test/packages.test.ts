import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { parseSync } from 'vite';
import { expect, test } from 'vitest';

/** The modules of the gateway, which lie in no folder but for the program of the thread that writes. */
const modules = ['dist', 'dist/api'].flatMap((folder) =>
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
