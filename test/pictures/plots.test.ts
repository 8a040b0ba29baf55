import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readFigures } from '../bench/figures.js';
import { plotsOf } from './plots.js';

const plots = plotsOf(readFigures());

test.for(Object.keys(plots))('%s is drawn from the figures (after a change: npm run pictures)', (name) => {
  expect(readFileSync(`docs/pictures/${name}`, 'utf8')).toBe(plots[name]);
  expect(plots[name]!.match(/<rect /g)!.length).toBeGreaterThan(5);
});
