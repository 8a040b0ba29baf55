import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestbed, type Testbed } from '../../support/testbed.js';
import {
  bytesOf,
  deliveryOf,
  endings,
  Probe,
  Wire,
  type Asked,
  type Ending,
  long,
  multipart,
  signIn,
  sse,
} from './raw-clients.js';

let testbed: Testbed;
let probe: Probe;
let token: string;

const query = JSON.stringify({ query: '{ __typename }' });
const longQuery = JSON.stringify({ query: '{ __typename }', variables: { long } });
const bearer = () => ({ authorization: `Bearer ${token}` });
const updates = JSON.stringify({ query: 'subscription { shipmentUpdates { cursor } }' });
const upgrade = {
  connection: 'upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  'sec-websocket-protocol': 'graphql-transport-ws',
};

const delivery = (filling: string, headers = {}) =>
  deliveryOf(testbed, { id: `evt_${filling.length}`, type: 'strange', filling }, headers);

const requests: Readonly<Record<string, () => Asked>> = {
  'a query': () => ({ body: query }),
  'a long query': () => ({ body: longQuery }),
  'a query in chunks': () => ({ body: query, isChunked: true }),
  'a long query in chunks': () => ({ body: longQuery, isChunked: true }),
  'a query by GET': () => ({
    method: 'GET',
    path: '/graphql?query={__typename}',
    headers: { accept: '*/*' },
  }),
  'a signed-in query': () => ({ body: JSON.stringify({ query: '{ viewer { id } }' }), headers: bearer() }),
  'a query of an unknown token': () => ({ body: query, headers: { authorization: 'Bearer unknown' } }),
  'no JSON': () => ({ body: '{"query":' }),
  'no JSON, but long': () => ({ body: longQuery.slice(0, -1) }),
  'wrong UTF-8': () => ({ body: Buffer.from([0x7b, 0xff, 0x7d]) }),
  'too large a body': () => ({ body: long.repeat(6) }),
  'too large a body in chunks': () => ({ body: long.repeat(6), isChunked: true }),
  'an invalid document': () => ({ body: JSON.stringify({ query: '{ nothing }' }) }),
  'no operation': () => ({ body: '[]' }),
  'a compressed body': () => ({ body: longQuery, headers: { 'content-encoding': 'gzip' } }),
  'a compressed body in chunks': () => ({
    body: longQuery,
    headers: { 'content-encoding': 'gzip' },
    isChunked: true,
  }),
  'a body in Latin-1': () => ({
    body: query,
    headers: { 'content-type': 'application/json;charset=latin1' },
  }),
  'an answer that there is not': () => ({ body: longQuery, headers: { accept: 'image/png' } }),
  'a long list of answers': () => ({ body: longQuery, headers: { accept: 'a/b,'.repeat(400) } }),
  'too many headers': () => ({
    body: longQuery,
    headers: Object.fromEntries(Array.from({ length: 220 }, (_, at) => [`x-${at}`, ''])),
  }),
  'headers too large': () => ({ headers: { 'x-long': long } }),
  'a foreign host': () => ({ body: longQuery, headers: { host: 'elsewhere.example' } }),
  'a foreign origin': () => ({ body: updates, headers: { origin: 'https://elsewhere.example', ...sse } }),
  HEAD: () => ({ method: 'HEAD' }),
  OPTIONS: () => ({ method: 'OPTIONS', headers: { origin: 'https://elsewhere.example' } }),
  'another method': () => ({ method: 'PATCH', body: longQuery }),
  'a method that there is not': () => ({ method: 'NOTHING' }),
  'nothing at this address': () => ({ path: '/nothing', body: longQuery }),
  'an expectation': () => ({ body: longQuery, headers: { expect: '100-continue' } }),
  'a strange expectation': () => ({ body: longQuery, headers: { expect: 'wonders' } }),
  'an upgrade': () => ({ method: 'GET', headers: upgrade }),
  'an upgrade from a foreign page': () => ({
    method: 'GET',
    headers: { ...upgrade, origin: 'https://elsewhere.example' },
  }),
  'an upgrade elsewhere': () => ({ method: 'GET', path: '/livez', headers: upgrade }),
  'an upgrade without a key': () => ({ method: 'GET', headers: { ...upgrade, 'sec-websocket-key': '' } }),
  'an anonymous stream': () => ({ body: updates, headers: sse }),
  'a stream of updates': () => ({ body: updates, headers: { ...sse, ...bearer() } }),
  'a stream in parts': () => ({ body: updates, headers: { ...multipart, ...bearer() } }),
  'a stream from a wrong place': () => ({
    body: updates,
    headers: { ...sse, ...bearer(), 'last-event-id': 'wrong' },
  }),
  'a stream that was complete': () => ({ body: longQuery, headers: { ...sse, 'last-event-id': 'complete' } }),
  'a long query by a stream': () => ({ body: longQuery, headers: sse }),
  'no JSON for a stream': () => ({ path: '/graphql/stream', body: longQuery.slice(1) }),
  'a delivery': () => delivery(''),
  'a long delivery': () => delivery(long),
  'a delivery that is too large': () => delivery(long.repeat(6)),
  'a delivery with a wrong signature': () => delivery(long, { 'shipping-signature': 't=1,v1=ab' }),
  'a compressed delivery': () => delivery(long, { 'content-encoding': 'gzip' }),
  'a delivery to nobody': () => ({ path: '/webhooks/shipments/nobody', body: longQuery }),
  'a delivery to nobody, in chunks': () => ({
    path: '/webhooks/shipments/nobody',
    body: longQuery,
    isChunked: true,
  }),
  'the page of the explorer': () => ({ method: 'GET', headers: { accept: 'text/html' } }),
  metrics: () => ({ method: 'GET', path: '/metrics' }),
};

type Cut = (head: number, whole: number) => number;
/** Where a request is cut off, by the lengths of its head and of all of it. */
const cuts: readonly Cut[] = [
  (head) => head >> 1,
  (head) => head,
  (head, whole) => (head + whole) >> 1,
  (_, whole) => whole - 1,
  (_, whole) => whole,
];

beforeAll(async () => {
  testbed = await startTestbed({ settings: { LOG_LEVEL: 'silent', ALLOWED_HOSTS: 'localhost' } });
  probe = new Probe(testbed);
  token = await signIn(testbed.url);
});

afterAll(() => testbed.stop());

test.each(Object.entries(requests))(
  'nothing is held of %s, wherever and however it ends',
  async (_, asked) => {
    const bytes = bytesOf(asked());
    const head = bytes.indexOf('\r\n\r\n') + 4;
    const sendAndEnd = async (cut: Cut, how: Ending, turns: number) => {
      const wire = new Wire(testbed.url).send(bytes.subarray(0, cut(head, bytes.length)));
      await probe.turns(turns);
      wire.end(how);
    };
    // At once, when it was read, and when it may be answered.
    for (const turns of [0, 2, 6])
      await Promise.all(cuts.flatMap((cut) => endings.map((how) => sendAndEnd(cut, how, turns))));
    await expect.poll(() => probe.held(), { interval: 10, timeout: 10_000 }).toEqual({});
  },
);
