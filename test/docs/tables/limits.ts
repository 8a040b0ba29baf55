import { maxHeaderSize } from 'node:http';
import { callsAtOnce as bookingsAtOnce } from '../../../src/domains/appointments/service/client.js';
import { callsAtOnce, callsPerHour, signInsAtOnce } from '../../../src/domains/notes/service/client.js';
import { maxCalls, maxMebibytes } from '../../../src/domains/notes/paging/note-lists.js';
import { maxScannedNotes } from '../../../src/domains/notes/paging/pager.js';
import { maxDeliveryValues } from '../../../src/domains/webhooks/resolvers.js';
import { maxUpdateValues } from '../../../src/events/feed/selection.js';
import { maxBodyBytes } from '../../../src/lib/body-limit.js';
import { defaultPageSize, maxEntities, maxPageSize } from '../../../src/graphql/page-size.js';
import {
  maxBackslashes,
  maxCharacters,
  maxUpdateCharacters,
  maxCost,
  maxDepth,
  maxFields,
  maxLines,
  maxMutations,
  maxName,
  maxGiven,
  maxRequestDepth,
  maxRequestValues,
  operationMs,
  parseOptions,
} from '../../../src/server/operation/cost/document-limits.js';
import { maxOperationsPerNetwork, maxOperationsPerUser } from '../../../src/server/operation/admission.js';
import {
  keptHeaders,
  maxAccepted,
  maxMediaType,
  maxPipelined,
} from '../../../src/server/http/request-guards.js';
import { mostShortChunks, shortChunk } from '../../../src/server/http/incoming-request.js';
import { mostSilentBytes } from '../../../src/server/http/reading-turns.js';
import { requestTimeoutMs, stalledMs } from '../../../src/server/bounded-server.js';
import { maxHeldPerUser } from '../../../src/server/live/subscription-quota.js';
import { maxRunning } from '../../../src/server/ws/graphql-transport-ws.js';
import { maxIdBytes } from '../../../src/server/ws/socket/operation-ids.js';
import { maxFragments } from '../../../src/server/ws/socket/arriving.js';
import { beatMs, maxMessageBytes } from '../../../src/server/ws/websocket-server.js';
import { defaultMebibytes } from '../../../src/store/sql/read-budget.js';
import type { MadeTable } from './table.js';

const count = (value: number) => value.toLocaleString('en');
const kibibytes = (bytes: number) => `${bytes / 1024} KiB`;
const mebibytes = (bytes: number) => `${bytes / 1024 / 1024} MiB`;
const seconds = (ms: number) => `${ms / 1000} seconds`;
const minutes = (ms: number) => `${ms / 60_000} minutes`;

const heads = ['limit', 'value', 'beyond it'];
const tooComplex = '`QUERY_TOO_COMPLEX`';
const rateLimited = '`RATE_LIMITED`';
const badInput = '`BAD_USER_INPUT`';

const operations = [
  ['rows of a page', `${maxPageSize}; ${defaultPageSize} if none is given`, badInput],
  ['ids of `nodes`', count(maxPageSize), badInput],
  ['representations of `_entities`', count(maxEntities), badInput],
  ['root fields of a mutation', count(maxMutations), tooComplex],
  ['fields of an operation, as counted above', count(maxCost), tooComplex],
  ['fields of list items after the fifth', count(maxCost), tooComplex],
  ['characters given to its fields: in a page, once for each row', count(maxGiven), tooComplex],
  ['characters of the answer', count(maxCharacters), tooComplex],
  ['characters of an update of a subscription', count(maxUpdateCharacters), tooComplex],
  ['pages of notes that an operation reads', `${maxCalls}, and about ${maxMebibytes} MiB`, tooComplex],
  ['bookings, shipments, payments and events that it reads', `about ${defaultMebibytes} MiB`, tooComplex],
  [
    'time for an operation',
    seconds(operationMs),
    '`UPSTREAM_TIMEOUT`, or `QUERY_TOO_COMPLEX` while it reads the database',
  ],
  [
    'tokens of a document',
    count(parseOptions.maxTokens),
    '`GRAPHQL_PARSE_FAILED`: pass long texts as variables',
  ],
  ['lines of a document', count(maxLines), tooComplex],
  ['backslashes of a document', count(maxBackslashes), tooComplex],
  ['characters of a name', count(maxName), tooComplex],
  ['levels of nesting, in a document with its fragments, or in variables', count(maxDepth), tooComplex],
  ['fields of a document with its fragments', count(maxCost), tooComplex],
  ['fields of variables', count(maxFields), tooComplex],
  ['values in lists of variables', count(maxRequestValues), tooComplex],
  [
    'values in a list of a filter',
    `${count(maxUpdateValues)}; ${maxDeliveryValues} for webhook deliveries`,
    badInput,
  ],
];

const requests = [
  ['operations in progress, for each user', count(maxOperationsPerUser), 'the others wait for their turn'],
  [
    'operations in progress without a session, for each network',
    count(maxOperationsPerNetwork),
    'the others wait for their turn',
  ],
  ['body of a request or webhook', mebibytes(maxBodyBytes), '`413`'],
  ['values of a request over HTTP: its commas and opening brackets', count(maxRequestValues), tooComplex],
  ['levels of nesting of a request over HTTP', count(maxRequestDepth), tooComplex],
  ['requests that wait on one connection', count(maxPipelined), 'the connection is closed'],
  ['headers of a request', count(keptHeaders - 1), '`431`'],
  [
    'headers of a request and its address, together',
    kibibytes(maxHeaderSize),
    '`431`: send long operations by `POST`',
  ],
  ['characters of `Content-Type`, except of webhooks', count(maxMediaType), '`415`'],
  ['characters of `Accept`, except of webhooks', count(maxAccepted), '`406`'],
  [
    'time in which a request has to arrive',
    `${requestTimeoutMs / 1000} to ${seconds(requestTimeoutMs + 30_000)}`,
    '`408`',
  ],
  [
    `chunks of a body that are shorter than ${shortChunk} bytes`,
    count(mostShortChunks),
    'the connection is closed',
  ],
  [
    'blanks, line breaks or leading zeros that lead to no request',
    kibibytes(mostSilentBytes),
    'the connection is closed',
  ],
  ['time in which a client reads nothing of its answer', minutes(stalledMs), 'the connection is closed'],
];

const services = [
  [
    'calls to the notes service, for each session on each replica',
    `${count(callsPerHour)} an hour`,
    '`RATE_LIMITED`',
  ],
  [
    'calls to the notes service at once, for each user',
    count(callsAtOnce),
    'the others wait up to 10 seconds',
  ],
  [
    'sign-ins at the notes service at once, for each network',
    count(signInsAtOnce),
    'the others wait up to 10 seconds',
  ],
  [
    'bookings at the appointment service at once, for each user',
    count(bookingsAtOnce),
    'the others wait up to 10 seconds',
  ],
  [
    'notes that `node(id:)` reads to find one that was not listed lately',
    count(maxScannedNotes),
    'an error, never null',
  ],
];

const websockets = [
  ['operations at once on a socket', count(maxRunning), rateLimited],
  ['message from the client', mebibytes(maxMessageBytes), 'closed with `1009`'],
  ['fragments of a message', count(maxFragments), 'closed with `1008`'],
  ['operation id', `${maxIdBytes} bytes`, 'closed with `4400`'],
  [
    'memory of subscriptions, for each user on each replica',
    `${mebibytes(maxHeldPerUser.bytes)}: enough for some 16,000 equal subscriptions, or for about a hundred filters of 1,000 ids`,
    rateLimited,
  ],
  [
    'fields in all messages of one event, for each user on each replica',
    `${count(maxHeldPerUser.fields)}; equal messages count once`,
    rateLimited,
  ],
  [
    'time in which a client sends nothing, not even the answer to a ping',
    `${beatMs / 1000} to ${seconds(2 * beatMs)}; longer while it reads a long message (at 17 KiB a second)`,
    'the socket is dropped',
  ],
];

/** The tables of `docs/limits.md`, from the constants that are enforced. */
export function limitTables(): readonly MadeTable[] {
  return Object.entries({ operations, requests, services, websockets }).map(([name, rows]) => ({
    page: 'docs/limits.md',
    name,
    rows: [heads, ...rows],
  }));
}
