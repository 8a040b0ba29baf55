import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.js';
import type { ConfigError, Environment } from '../../src/config/environment.js';
import { examplesIn, pageOf } from './pages.js';

/** The minimal settings of a gateway. */
const settings: Environment = {
  NOTES_BASE_URL: 'https://notes.example/v1',
  APPOINTMENTS_BASE_URL: 'https://appointments.example/v1',
  APPOINTMENTS_AUTH_URL: 'https://issuer.example',
  APPOINTMENTS_CLIENT_ID: 'id',
  APPOINTMENTS_CLIENT_SECRET: 'secret',
  SHIPMENT_WEBHOOKS: 'sub=secret',
  PAYMENT_WEBHOOKS: 'pe=secret',
};

const read = (environment: Environment) => readConfig(environment, () => '');

const rows = Array.from(
  pageOf('docs/settings.md').text.matchAll(/^\| (`[A-Z][^|]*)\|([^|]*)\|([^|]*)\|$/gm),
).map(([, names, , usual]) => ({
  names: Array.from(names!.matchAll(/`(\w+)`( ◆)?/g)).map(([, name, required]) => ({
    name: name!,
    required: required !== undefined,
  })),
  usual: usual!.trim(),
}));
const documented = rows.flatMap(({ names }) => names);
const [, source = ''] =
  /^const settings = ([^]*?^\}\));$/m.exec(readFileSync('src/config/config.ts', 'utf8')) ?? [];
const lines = new Map(
  Array.from(source.matchAll(/^ {2}([A-Z_]+): ((?:z|[a-z]\w*)[^]*?),$(?=\n {2}[A-Z_]+:|\n\}\))/gm)).map(
    ([, name, rule]) => [name!, rule!],
  ),
);

test('the settings are complete', () => {
  expect(lines.size).toBeGreaterThan(30);
  const there = [...lines.keys()].filter((name) => name !== 'NODE_ENV');
  expect(documented.map(({ name }) => name).toSorted()).toEqual(there.toSorted());
});

test('the settings have the documented defaults', () => {
  const exact = /^`[^`]+`(, `[^`]+`)*$/;
  const literal = rows
    .filter(({ usual }) => exact.test(usual))
    .flatMap(({ names, usual }) => {
      const values = Array.from(usual.matchAll(/`([^`]+)`/g)).map(([, value]) => value!);
      expect(values).toHaveLength(names.length);
      return names.map(({ name }, index) => [name, values[index]!] as const);
    });
  for (const [name, value] of literal)
    expect([name, read({ ...settings, [name]: value })]).toEqual([name, read(settings)]);
  const withDefault = [...lines]
    .filter(([, rule]) => /\.default\((?!\[\]\))/.test(rule))
    .map(([name]) => name);
  expect(literal.map(([name]) => name).toSorted()).toEqual(withDefault.toSorted());
});

test('the settings that production requires are marked', () => {
  let faults: readonly string[] = [];
  try {
    read({ NODE_ENV: 'production' });
  } catch (error) {
    faults = (error as ConfigError).faults;
  }
  const needed = faults.map((fault) => fault.replace(/:.*/, ''));
  expect(needed.length).toBeGreaterThan(5);
  const marked = documented.filter(({ required }) => required).map(({ name }) => name);
  expect(marked.toSorted()).toEqual(needed.toSorted());
});

test('the settings accept the example of grants, and every documented grant', () => {
  for (const { text } of examplesIn('json', '@'))
    expect(read({ ...settings, GRANTS: text }).grants?.size).toBe(2);
  const grantRows = pageOf('docs/sign-in.md').text.matchAll(/^\| `[A-Z_]+` *\| `([^`]+)`/gm);
  const names = Array.from(grantRows).map(([, name]) => name);
  expect(read({ ...settings, GRANTS: JSON.stringify({ '*': names }) }).grants?.get('*')).toHaveLength(5);
});
