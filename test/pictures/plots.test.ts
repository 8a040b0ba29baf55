import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { plotsOf } from './plots.js';

const plots = plotsOf(readFileSync('docs/benchmarks.json', 'utf8'));

test.for(Object.keys(plots))('%s is drawn from the figures (after a change: npm run pictures)', (name) => {
  expect(readFileSync(`docs/pictures/${name}`, 'utf8')).toBe(plots[name]);
  expect(plots[name]!.match(/<rect /g)!.length).toBeGreaterThan(5);
});
