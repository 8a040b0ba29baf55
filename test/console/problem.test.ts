import { expect, test } from 'vitest';
import { problemOf } from '../../src/console/explorer/session/problem.js';

const tooMany = 'Too many failed sign-ins; try again later.';

test.each([
  { message: tooMany, retryAfter: 896, told: 'Too many failed sign-ins. Try again in 15 minutes.' },
  { message: tooMany, retryAfter: 121, told: 'Too many failed sign-ins. Try again in 3 minutes.' },
  { message: tooMany, retryAfter: 120, told: 'Too many failed sign-ins. Try again in 120 s.' },
  { message: 'It takes no more calls.', retryAfter: 7, told: 'It takes no more calls. Try again in 7 s.' },
  { message: tooMany, retryAfter: undefined, told: tooMany },
])('says once how long to wait: $retryAfter s', ({ message, retryAfter, told }) => {
  expect(problemOf({ errors: [{ message, extensions: { retryAfter } }] })?.message).toBe(told);
});
