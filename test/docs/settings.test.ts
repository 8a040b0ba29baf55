import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { buildSchema, type GraphQLEnumType } from 'graphql';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.js';
import { describeSettings } from '../../src/config/settings.js';
import type { ConfigError, Environment } from '../../src/config/environment.js';
import { examplesIn, pageOf } from './pages.js';

/** The settings that a gateway needs, as documented. */
const settings: Environment = parseEnv(examplesIn('dotenv', 'NOTES_BASE_URL')[0]!.text);

const read = (environment: Environment) => readConfig(environment, () => '');

const described = describeSettings();

test('the settings that production requires are marked', () => {
  let faults: readonly string[] = [];
  try {
    read({ NODE_ENV: 'production' });
  } catch (error) {
    faults = (error as ConfigError).faults;
  }
  const needed = faults.map((fault) => fault.replace(/:.*/, ''));
  expect(needed.length).toBeGreaterThan(5);
  const marked = described.filter(({ required }) => required).map(({ name }) => name);
  expect(marked.toSorted()).toEqual(needed.toSorted());
});

test('the example of a .env file is enough for a gateway', () => {
  expect(read(settings).upstreams?.notes).toBeDefined();
});

test('the settings accept the example of grants, and every documented grant', () => {
  for (const { text } of examplesIn('json', '@'))
    expect(read({ ...settings, GRANTS: text }).grants?.size).toBe(2);
  const grantRows = pageOf('docs/sign-in.md').text.matchAll(/^\| `[A-Z_]+` *\| `([^`]+)`/gm);
  const names = Array.from(grantRows).map(([, name]) => name);
  const given = read({ ...settings, GRANTS: JSON.stringify({ '*': names }) }).grants?.get('*');
  const schema = buildSchema(readFileSync('src/generated/schema.graphql', 'utf8'));
  const known = (schema.getType('Grant') as GraphQLEnumType).getValues().map(({ name }) => name);
  expect(given?.toSorted()).toEqual(known.toSorted());
});
