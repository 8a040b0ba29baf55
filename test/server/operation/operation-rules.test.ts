import { GraphQLError, type DocumentNode, type OperationDefinitionNode } from 'graphql';
import { beforeEach, describe, expect, test } from 'vitest';
import { GatewayError, SessionEnded } from '../../../src/graphql/errors.js';
import { createSchema } from '../../support/schema.js';
import { refuseText } from '../../../src/server/operation/cost/document-limits.js';
import { OperationRules } from '../../../src/server/operation/operation-rules.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';

const lines: string[] = [];
const telemetry = createTelemetry('error', { write: (line) => void lines.push(line) });
const schema = createSchema();
const rules = new OperationRules({ schema, introspection: false, telemetry });
let endedSessions = 0;
const operation = { requestId: 'request-1', endSession: () => void (endedSessions += 1) };

beforeEach(() => {
  lines.length = 0;
  endedSessions = 0;
});

describe('an error shown to clients', () => {
  const limited = new GatewayError('RATE_LIMITED', 'Later.', { retryAfter: 7, cause: new Error('secret') });

  test('keeps message and extensions if it is a GatewayError, of a field or a stream', () => {
    const extensions = { code: 'RATE_LIMITED', retryAfter: 7 };
    const ofField = new GraphQLError('Later.', { path: ['notes'], originalError: limited });
    expect(rules.show(ofField, operation)).toEqual({ message: 'Later.', path: ['notes'], extensions });
    expect(rules.show(limited, operation)).toEqual({ message: 'Later.', extensions });
    expect(lines).toEqual([]);
  });

  test('gets a code and loses its `http` extension if it is GraphQL’s own', () => {
    const plain = new GraphQLError('No.');
    expect(rules.show(plain)).toEqual({ message: 'No.', extensions: { code: 'BAD_USER_INPUT' } });
    const http = new GraphQLError('No.', { extensions: { code: 'BAD_REQUEST', http: { status: 405 } } });
    expect(rules.show(http)).toEqual({ message: 'No.', extensions: { code: 'BAD_REQUEST' } });
  });

  test.each<readonly [about: string, error: unknown]>([
    ['error of a field', new GraphQLError('secret', { path: ['notes'], originalError: new Error('secret') })],
    ['error of a stream', new TypeError('secret')],
    ['value that is not an Error', 'secret'],
  ])('is masked and logged if it is an unexpected %s', (_, error) => {
    const shown = rules.show(error, operation);
    expect(JSON.stringify(shown)).not.toContain('secret');
    expect(shown.extensions).toEqual({ code: 'INTERNAL_SERVER_ERROR', requestId: 'request-1' });
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([{ requestId: 'request-1' }]);
    expect(lines[0]).toContain('secret');
  });

  test('has a new request id if there is no operation yet', () => {
    const { extensions } = rules.show(new Error('secret'));
    expect(lines[0]).toContain(extensions!['requestId']);
  });

  test('omits an invalid value', () => {
    const invalid = new GraphQLError('Int cannot represent non-integer value: "secret"');
    expect(rules.show(invalid).message).toBe('Int cannot represent non-integer value.');
  });

  test('ends the session if it is SessionEnded, and not otherwise', () => {
    const ended = new GraphQLError('x', { path: ['notes'], originalError: new SessionEnded() });
    expect(rules.show(ended, operation).extensions).toEqual({ code: 'UNAUTHENTICATED' });
    expect(rules.show(limited, operation).extensions).toMatchObject({ code: 'RATE_LIMITED' });
    expect(endedSessions).toBe(1);
  });
});

describe('a document', () => {
  test('is parsed once if it is valid', () => {
    expect(rules.prepare('{ viewer { id } }')).toBe(rules.prepare('{ viewer { id } }'));
    expect(rules.prepare('{ viewer { id } }')).toMatchObject({ kind: 'Document' });
  });

  test.each([
    ['{', 'GRAPHQL_PARSE_FAILED'],
    ['{ nothing }', 'GRAPHQL_VALIDATION_FAILED'],
    ['{ __schema { description } }', 'GRAPHQL_VALIDATION_FAILED'],
  ])('%s is refused with %s', (query, code) => {
    expect(rules.prepare(query)).toMatchObject([{ extensions: { code } }]);
  });

  test.each(['"tomorrow"', '5', '["2026-01-01T00:00:00Z"]'])(
    'with the date-time %s is refused, with the location of the value',
    (given) => {
      const query = `{ appointments(filter: { from: ${given} }) { nodes { id } } }`;
      const [fault] = rules.prepare(query) as readonly GraphQLError[];
      expect(rules.show(fault).locations).toEqual([{ line: 1, column: 32 }]);
    },
  );
});

describe('a document with a long name', () => {
  const name = 'a'.repeat(255);

  test.each([
    ['an alias', (long: string) => `{ ${long}: viewer { id } }`],
    ['an operation', (long: string) => `query ${long} { viewer { id } }`],
    ['a variable', (long: string) => `query ($${long}: ID!) { node(id: $${long}) { id } }`],
  ])('is accepted if it has 255 characters, and refused if it has more: %s', (_, write) => {
    expect(rules.prepare(write(name))).toHaveProperty('kind', 'Document');
    const [refusal] = rules.prepare(write(`${name}a`)) as readonly GraphQLError[];
    expect(rules.show(refusal)).toEqual({
      message: 'The document has a name of more than 255 characters.',
      extensions: { code: 'QUERY_TOO_COMPLEX' },
    });
  });

  test.each([
    ['in a string', `{ tag(name: "${name}a") { name } }`],
    ['in a comment', `{ viewer { name } } # ${name}a`],
  ])('is accepted if that is %s', (_, query) => {
    expect(rules.prepare(query)).toHaveProperty('kind', 'Document');
  });

  test.each(['{ a', '{ "', ''])('is left to the parser if that is behind an error: %s', (start) => {
    const query = `${start} } ? ${name}a`;
    expect(rules.prepare(query)).toMatchObject([{ extensions: { code: 'GRAPHQL_PARSE_FAILED' } }]);
  });
});

test('a message that repeats a long text is cut', () => {
  const [fault] = rules.prepare(`{ node(id: ${'9'.repeat(5_000)}.0) { id } }`) as readonly GraphQLError[];
  expect(rules.show(new GraphQLError('m'.repeat(1_001))).message).toBe(`${'m'.repeat(1_000)}…`);
  expect(rules.show(fault).message.length).toBeLessThan(1_100);
});

describe('a document with many brackets', () => {
  const deep = (open: string, levels: number) => open.repeat(levels);

  test.each([
    ['selections', `{${deep('a{', 2_400)}`],
    ['a list', `{ tag(name: ${deep('[', 4_900)}`],
    ['objects', `{ a(b: ${deep('{c:', 2_000)}`],
    [
      'selections between block strings that contain quotes',
      `{ x: tag(name: """\\"""""") { notes { ${deep('a{', 2_340)}${deep('}', 2_340)} } } y: tag(name: """""") { id } }`,
    ],
  ])('is refused before it is parsed if they nest too deep in %s', (_, query) => {
    const [refusal] = rules.prepare(query) as readonly GraphQLError[];
    expect(rules.show(refusal)).toEqual({
      message: 'The operation is nested more than 200 levels deep.',
      extensions: { code: 'QUERY_TOO_COMPLEX' },
    });
  });

  test.each([
    ['in a string', `{ tag(name: "\\"${deep('{', 500)}") { name } }`],
    ['in a block string', `{ tag(name: """${deep('[', 500)}""") { name } }`],
    ['in a comment', `{ viewer { name } } # ${deep('(', 500)}`],
    ['side by side', `{ ${deep('tag(name: "a") { name } ', 150)} }`],
  ])('is accepted if they are %s', (_, query) => {
    expect(rules.prepare(query)).toHaveProperty('kind', 'Document');
  });

  test.each([
    ['an unterminated string', `{ tag(name: "${'\\"'.repeat(10_000)}`],
    ['an unterminated string of brackets', `{ tag(name: "${'[\\"'.repeat(10_000)}`],
    ['too many tokens', `{ ${'tag(name: "a") { name } '.repeat(40_000)} }`],
  ])('is left to the parser, which refuses it for %s', (_, query) => {
    expect(refuseText(query)).toBeUndefined();
    expect(rules.prepare(query)).toMatchObject([{ extensions: { code: 'GRAPHQL_PARSE_FAILED' } }]);
  });
});

describe('a document of many lines', () => {
  const withLines = (count: number, end: string) => `{ viewer { name }${end.repeat(count - 1)}}`;

  test.each([
    ['LF', '\n'],
    ['CR', '\r'],
    ['CRLF', '\r\n'],
  ])('is refused above 10,000 lines that end with %s', (_, end) => {
    expect(rules.prepare(withLines(10_000, end))).toHaveProperty('kind', 'Document');
    expect(rules.prepare(withLines(10_001, end))).toMatchObject([
      {
        message: 'The document has more than 10000 lines: pass long texts as variables.',
        extensions: { code: 'QUERY_TOO_COMPLEX' },
      },
    ]);
  });

  test('has errors that say where they are, though its nodes do not refer to its text', () => {
    const query = withLines(10_000, '\n');
    const [wrong] = rules.prepare(query.replace(/}$/, ' nothing }')) as readonly GraphQLError[];
    const document = rules.prepare(query.replace(/}$/, ' tags { nodes { name } } }')) as DocumentNode;
    const [operationNode] = document.definitions as readonly [OperationDefinitionNode];
    const nodes = operationNode.selectionSet.selections[1]!;
    const failed = new GraphQLError('No.', { nodes, originalError: new GatewayError('FORBIDDEN', 'No.') });
    const masked = new GraphQLError('No.', { path: ['tags'], nodes, originalError: new Error('No.') });
    for (const error of [wrong, failed, masked])
      expect(rules.show(error).locations).toEqual([{ line: 10_000, column: 2 }]);
    expect(nodes.loc?.source.body).toBe('');
    expect(document.loc?.source.body).toContain('tags');
  });
});
