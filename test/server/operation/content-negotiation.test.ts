import { expect, test } from 'vitest';
import { refusalTypeFor, streamFormatFor } from '../../../src/server/operation/content-negotiation.js';

const accepted = 'application/graphql-response+json,application/json;q=0.9';

test('a 4xx has the media type of an answer; a 5xx is plain JSON, which clients take as a failure', () => {
  expect(refusalTypeFor(accepted, 413)).toBe('application/graphql-response+json; charset=utf-8');
  expect(refusalTypeFor(accepted, 503)).toBe('application/json; charset=utf-8');
  for (const accept of [undefined, '', '*/*', 'text/html', 'application/json'])
    expect(refusalTypeFor(accept, 413)).toBe('application/json; charset=utf-8');
});

test.each([
  ['multipart/mixed;subscriptionSpec=1.0', 'multipart'],
  [
    'multipart/mixed;boundary="graphql";subscriptionSpec="1.0";deferSpec=20220824,application/json',
    'multipart',
  ],
  ['Multipart/Mixed; SubscriptionSpec=1.0; q=0.5', 'multipart'],
  ['multipart/mixed;subscriptionSpec=1.0;q=0', undefined],
  ['multipart/mixed;boundary="graphql";subscriptionSpec=1.0,application/json', 'multipart'],
  ['multipart/mixed;subscriptionSpec=1.0, application/graphql-response+json, application/json', 'multipart'],
  ['application/json, multipart/mixed;subscriptionSpec=1.0', undefined],
  ['application/json;q=0.9, multipart/mixed;subscriptionSpec=1.0', 'multipart'],
  ['application/json, multipart/mixed;subscriptionSpec=1.0;q=0.5', undefined],
  ['application/json;q=0.5, multipart/mixed;subscriptionSpec=1.0;deferSpec=20220824;q=0.6', 'multipart'],
  ['multipart/mixed;subscriptionSpec=1.0;q=0.9, text/event-stream', 'sse'],
  ['multipart/mixed;subscriptionSpec=1.0, text/event-stream, */*', 'multipart'],
  ['multipart/mixed;subscriptionSpec=1.0;boundary="a,b"', 'multipart'],
  ['application/graphql-response+json,application/json;q=0.9', undefined],
  ['multipart/mixed;subscriptionSpec=2.0', undefined],
  ['multipart/mixed;subscriptionSpec=2.0, text/event-stream', 'sse'],
  ['multipart/mixed;deferSpec=20220824', undefined],
  ['text/event-stream', 'sse'],
  ['text/event-stream; charset=UTF-8', 'sse'],
  ['text/event-stream;q=0', undefined],
  ['application/json, text/event-stream', undefined],
  ['text/event-stream, application/json; charset=utf-8', 'sse'],
  ['*/*, text/event-stream', 'sse'],
  [undefined, undefined],
])('a client that accepts %s gets a stream of the format %s', (accept, name) => {
  expect(streamFormatFor(accept)?.name).toBe(name);
});
