import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readOptions } from './bench/options.js';

const suites = { queries: { names: ['Q1', 'Q2'] }, fanout: { names: ['memory'] }, ingest: { names: [] } };
const read = (...args: readonly string[]) => readOptions(args, suites);

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'trivium-options-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test('all suites are run, or those that are named', () => {
  expect(read()).toMatchObject({ suites: ['queries', 'fanout', 'ingest'], short: false });
  expect(read('fanout', '--short')).toMatchObject({ suites: ['fanout'], short: true });
});

test('a single measurement is run in the suite that has it', () => {
  expect(read('--only', 'Q2')).toMatchObject({ suites: ['queries'], only: 'Q2' });
});

test('an unknown suite or measurement is refused, and the known ones are named', () => {
  expect(() => read('speed')).toThrow('There is no suite speed.\nnpm run bench -- [queries|fanout|ingest]');
  expect(() => read('--only', 'Q9')).toThrow(
    'There is no measurement Q9. Their names:\nqueries: Q1, Q2\nfanout: memory\ningest: none',
  );
  expect(() => read('ingest', '--only', 'Q1')).toThrow(
    'There is no measurement Q1. Their names:\ningest: none',
  );
  expect(() => read('--json')).toThrow(/argument missing\nnpm run bench/);
});

test('a file for results is refused at once if it cannot be written, and is left as it is if it can', () => {
  const path = join(createFolder(), 'results.json');
  expect(read('--json', path)).toMatchObject({ json: path });
  expect(existsSync(path)).toBe(true);
  writeFileSync(path, 'earlier results');
  read('--json', path);
  expect(readFileSync(path, 'utf8')).toBe('earlier results');
  expect(() => read('--markdown', join(path, 'results.md'))).toThrow(/cannot be written to a file: ENOTDIR/);
});
