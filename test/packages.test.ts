import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);
const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly dependencies: Readonly<Record<string, string>>;
};

test('the build bundles all packages that it uses, except native code', async () => {
  const names = JSON.stringify(Object.keys(dependencies));
  const module = `
    const { href } = new URL('node_modules/', import.meta.url);
    console.log(...${names}.filter((name) => !import.meta.resolve(name).startsWith(href)));
  `;
  // In a process of its own, since the imports of a test resolve elsewhere.
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', module], { cwd: 'dist' });
  expect(stdout.trim()).toBe('@photostructure/sqlite');
});

test('the build contains a single copy of graphql', () => {
  const files = readdirSync('dist/node_modules', { encoding: 'utf8', recursive: true });
  const copies = files
    .filter((file) => file.endsWith('.js'))
    .flatMap(
      (file) => readFileSync(`dist/node_modules/${file}`, 'utf8').match(/class GraphQLError\b/g) ?? [],
    );
  expect(copies).toHaveLength(1);
});
