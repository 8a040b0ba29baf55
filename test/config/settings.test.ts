import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeSettings, settings, type DescribedSetting } from '../../src/config/settings.js';

/** A setting as a comment and an assignment that can be uncommented. */
function line({ name, about, usual, example, otherwise, required }: DescribedSetting): string {
  const notes = [
    usual === undefined && otherwise !== undefined && `Default: ${otherwise}.`,
    required && 'Required in production.',
  ].filter(Boolean);
  return `# ${[about, ...notes].join(' ')}\n#${name}=${quoted(usual ?? example ?? '')}\n`;
}

/** Quoted, where a reader of the file would take it otherwise. */
function quoted(value: string): string {
  return /^[\w.:/*@=,-]+$/.test(value) ? value : `'${value}'`;
}

test('.env.example shows every setting (after a change: npx vitest run test/config/settings.test.ts -u)', async () => {
  const text = `# Copy to .env in the folder where the gateway is started, and uncomment what you set. The environment takes
# precedence. Every setting but OTEL_… may also come from a file: NAME_FILE=<path>. Put a value with a #, $ or \\ in
# single quotes.

${describeSettings().map(line).join('\n')}`;
  await expect(text).toMatchFileSnapshot('../../.env.example');
});

test('every setting is read', () => {
  const text = readFileSync('src/config/config.ts', 'utf8');
  const names = Object.keys(settings.shape).filter(
    (name) => name !== 'NODE_ENV' && !name.startsWith('OTEL_'),
  );
  expect(names.length).toBeGreaterThan(30);
  expect(names.filter((name) => !text.includes(`given.${name}`))).toEqual([]);
});

test('every setting is described, and shows a value', () => {
  const poor = describeSettings().filter(
    ({ about, usual, otherwise, example }) =>
      !/\S.*\.$/s.test(about) || (usual ?? otherwise) === undefined || (usual ?? example) === undefined,
  );
  expect(poor).toEqual([]);
});
