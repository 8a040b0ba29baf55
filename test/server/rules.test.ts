import { GraphQLError } from 'graphql';
import { beforeEach, describe, expect, test } from 'vitest';
import { GatewayError, SessionEnded } from '../../src/errors.js';
import { createSchema } from '../../src/schema.js';
import { createRules } from '../../src/server/rules.js';
import { createTelemetry } from '../../src/telemetry.js';

const lines: string[] = [];
const telemetry = createTelemetry('error', { write: (line) => void lines.push(line) });
const rules = createRules({ schema: createSchema(), introspection: false, telemetry });
let endings = 0;
const operation = { requestId: 'request-1', endSession: () => void (endings += 1) };

beforeEach(() => {
  lines.length = 0;
  endings = 0;
});

describe('what is shown of an error', () => {
  const limited = new GatewayError('RATE_LIMITED', 'Later.', { retryAfter: 7, cause: new Error('secret') });

  test('ours is shown with what it says, whether a field or a stream threw it', () => {
    const extensions = { code: 'RATE_LIMITED', retryAfter: 7 };
    const ofField = new GraphQLError('Later.', { path: ['notes'], originalError: limited });
    expect(rules.show(ofField, operation)).toEqual({ message: 'Later.', path: ['notes'], extensions });
    expect(rules.show(limited, operation)).toEqual({ message: 'Later.', extensions });
    expect(lines).toEqual([]);
  });

  test('GraphQL’s own has a code, and nothing of how HTTP tells it', () => {
    const plain = new GraphQLError('No.');
    expect(rules.show(plain)).toEqual({ message: 'No.', extensions: { code: 'BAD_USER_INPUT' } });
    const http = new GraphQLError('No.', { extensions: { code: 'BAD_REQUEST', http: { status: 405 } } });
    expect(rules.show(http)).toEqual({ message: 'No.', extensions: { code: 'BAD_REQUEST' } });
  });

  test.each<readonly [about: string, error: unknown]>([
    ['of a field', new GraphQLError('secret', { path: ['notes'], originalError: new Error('secret') })],
    ['of a stream', new TypeError('secret')],
    ['that is no error', 'secret'],
  ])('another one %s is masked and logged', (_, error) => {
    const shown = rules.show(error, operation);
    expect(JSON.stringify(shown)).not.toContain('secret');
    expect(shown.extensions).toEqual({ code: 'INTERNAL_SERVER_ERROR', requestId: 'request-1' });
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([{ requestId: 'request-1' }]);
    expect(lines[0]).toContain('secret');
  });

  test('before there is an operation, an id is made', () => {
    const { extensions } = rules.show(new Error('secret'));
    expect(lines[0]).toContain(extensions!['requestId']);
  });

  test('a session that ended at the service is ended here', () => {
    const ended = new GraphQLError('x', { path: ['notes'], originalError: new SessionEnded() });
    expect(rules.show(ended, operation).extensions).toEqual({ code: 'UNAUTHENTICATED' });
    expect(rules.show(limited, operation).extensions).toMatchObject({ code: 'RATE_LIMITED' });
    expect(endings).toBe(1);
  });
});

describe('what is prepared', () => {
  test('a document that is good is parsed once', () => {
    expect(rules.prepare('{ viewer { id } }')).toBe(rules.prepare('{ viewer { id } }'));
    expect(rules.prepare('{ viewer { id } }')).toMatchObject({ kind: 'Document' });
  });

  test.each([
    ['{', 'GRAPHQL_PARSE_FAILED'],
    ['{ nothing }', 'GRAPHQL_VALIDATION_FAILED'],
    ['{ __schema { description } }', 'GRAPHQL_VALIDATION_FAILED'],
  ])('%s is %s', (query, code) => {
    expect(rules.prepare(query)).toMatchObject([{ extensions: { code } }]);
  });
});

describe('a text that is nested', () => {
  const deep = (open: string, levels: number) => open.repeat(levels);

  test.each([
    ['selections', `{${deep('a{', 2_400)}`],
    ['a list', `{ tag(name: ${deep('[', 4_900)}`],
    ['objects', `{ a(b: ${deep('{c:', 2_000)}`],
    [
      'selections between blocks that have quotes in them',
      `{ x: tag(name: """\\"""""") { notes { ${deep('a{', 2_340)}${deep('}', 2_340)} } } y: tag(name: """""") { id } }`,
    ],
  ])('too deep in %s is refused before it is parsed', (_, query) => {
    const [refusal] = rules.prepare(query) as readonly GraphQLError[];
    expect(rules.show(refusal)).toEqual({
      message: 'The operation is nested more than 200 levels deep.',
      extensions: { code: 'QUERY_TOO_COMPLEX' },
    });
  });

  test.each([
    ['a text', `{ tag(name: "\\"${deep('{', 500)}") { name } }`],
    ['a block', `{ tag(name: """${deep('[', 500)}""") { name } }`],
    ['a comment', `{ viewer { name } } # ${deep('(', 500)}`],
    ['brackets side by side', `{ ${deep('tag(name: "a") { name } ', 300)} }`],
  ])('is not what stands in %s', (_, query) => {
    expect(rules.prepare(query)).toHaveProperty('kind', 'Document');
  });

  test.each([
    ['a text that does not end', `{ tag(name: "${'\\"'.repeat(500_000)}`],
    ['a text of brackets that does not end', `{ tag(name: "${'[\\"'.repeat(300_000)}`],
    ['more tokens than may be', `{ ${'tag(name: "a") { name } '.repeat(40_000)} }`],
  ])('is not looked for beyond %s', (_, query) => {
    expect(rules.tooDeep(query)).toBeUndefined();
    expect(rules.prepare(query)).toMatchObject([{ extensions: { code: 'GRAPHQL_PARSE_FAILED' } }]);
  });
});

test.each([
  [
    'Variable "$input" got invalid value { password: "pass; word", more: 1 }; Field "more" is not defined.',
    'Variable "$input" got an invalid value; Field "more" is not defined.',
  ],
  [
    'Variable "$input" got invalid value ["pass"] at "input.password"; String cannot represent a non string value: ["pass"]',
    'Variable "$input" got an invalid value; String cannot represent a non string value.',
  ],
])('what was given is not repeated: %s', (message, shown) => {
  expect(rules.show(new GraphQLError(message)).message).toBe(shown);
});
