import { expect, test } from 'vitest';
import { refusalTypeFor } from '../../../src/server/operation/content-negotiation.js';

const accepted = 'application/graphql-response+json,application/json;q=0.9';

test('a 4xx has the media type of an answer; a 5xx is plain JSON, which clients take as a failure', () => {
  expect(refusalTypeFor(accepted, 413)).toBe('application/graphql-response+json; charset=utf-8');
  expect(refusalTypeFor(accepted, 503)).toBe('application/json; charset=utf-8');
  for (const accept of [undefined, '', '*/*', 'text/html', 'application/json'])
    expect(refusalTypeFor(accept, 413)).toBe('application/json; charset=utf-8');
});
