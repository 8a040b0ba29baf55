import { expect, test } from 'vitest';
import { refusalTypeFor } from '../../src/server/accept.js';

const clients = 'application/graphql-response+json,application/json;q=0.9';

test('a client at fault is told in the form of an answer; what may pass is a failure to those who ask again', () => {
  expect(refusalTypeFor(clients, 413)).toBe('application/graphql-response+json; charset=utf-8');
  expect(refusalTypeFor(clients, 503)).toBe('application/json; charset=utf-8');
  for (const accept of [undefined, '', '*/*', 'text/html', 'application/json'])
    expect(refusalTypeFor(accept, 413)).toBe('application/json; charset=utf-8');
});
