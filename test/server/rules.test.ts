import { getVariableValues, GraphQLError, parse, type OperationDefinitionNode } from 'graphql';
import { beforeEach, describe, expect, test } from 'vitest';
import { GatewayError, SessionEnded } from '../../src/errors.js';
import { createSchema } from '../../src/schema.js';
import { refuseText } from '../../src/server/limits.js';
import { createRules } from '../../src/server/rules.js';
import { createTelemetry } from '../../src/telemetry.js';

const lines: string[] = [];
const telemetry = createTelemetry('error', { write: (line) => void lines.push(line) });
const schema = createSchema();
const rules = createRules({ schema, introspection: false, telemetry });
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
    ['side by side', `{ ${deep('tag(name: "a") { name } ', 300)} }`],
  ])('is accepted if they are %s', (_, query) => {
    expect(rules.prepare(query)).toHaveProperty('kind', 'Document');
  });

  test.each([
    ['an unterminated string', `{ tag(name: "${'\\"'.repeat(500_000)}`],
    ['an unterminated string of brackets', `{ tag(name: "${'[\\"'.repeat(300_000)}`],
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
});

describe('the message about an invalid value omits the value', () => {
  /** The messages shown when the value of a variable does not fit its type. */
  const showRefusal = (type: string, given: unknown) => {
    const [definition] = parse(`query ($given: ${type}) { __typename }`).definitions;
    const { variableDefinitions = [] } = definition as OperationDefinitionNode;
    const { errors = [] } = getVariableValues(schema, variableDefinitions, { given });
    expect(errors.length).toBeGreaterThan(0);
    return errors.map((error) => rules.show(error).message);
  };
  const secret = 'secret" cannot represent a: secret; secret" does not exist in "A" enum. secret';
  const notInEnum = 'Value does not exist in "AppointmentStatus" enum.';
  const notAString = 'String cannot represent a non string value.';

  test.each<readonly [type: string, given: unknown, reason: string]>([
    ['AppointmentStatus', secret, notInEnum],
    ['AppointmentStatus', 'BOOKD', notInEnum],
    ['AppointmentStatus', [secret], 'Enum "AppointmentStatus" cannot represent non-string value.'],
    ['SignInInput', secret, 'Expected type "SignInInput" to be an object.'],
    [
      'SignInInput',
      { emial: secret },
      'Field "emial" is not defined by type "SignInInput". Did you mean "email"?',
    ],
    ['UpdateNoteInput', { title: secret }, 'Field "id" of required type "ID!" was not provided.'],
    ['Int', secret, 'Int cannot represent non-integer value.'],
    ['Int', 1e12, 'Int cannot represent non 32-bit signed integer value.'],
    ['SafeInt', secret, 'SafeInt cannot represent non-integer value.'],
    ['Boolean', secret, 'Boolean cannot represent a non boolean value.'],
    [
      'DateTime',
      secret,
      'DateTime must be an ISO 8601 date-time with an offset, such as 2026-11-21T09:30:00Z.',
    ],
  ])('for a variable of type %s with the value %o', (type, given, reason) => {
    expect(showRefusal(type, given)).toEqual([`Variable "$given" got an invalid value; ${reason}`]);
  });

  const isNull = 'Expected non-nullable type "ID!" not to be null.';

  test.each<readonly [place: string, type: string, given: unknown, reason: string]>([
    ['given.password', 'SignInInput', { email: secret, password: [secret] }, notAString],
    ['given.id', 'UpdateNoteInput', { id: null, title: secret }, isNull],
    ['given.id', 'UpdateNoteInput', { id: [secret] }, 'ID cannot represent value.'],
    ['given[1]', '[Int]', [1, secret], 'Int cannot represent non-integer value.'],
  ])('and has the path of the invalid member: %s', (place, type, given, reason) => {
    expect(showRefusal(type, given)).toEqual([
      `Variable "$given" got an invalid value at "${place}"; ${reason}`,
    ]);
  });

  test('and has the path of each invalid member of a list', () => {
    const booking = (...statuses: readonly string[]) => ({
      status: 'BOOKED',
      participants: statuses.map((status) => ({ actor: { reference: secret }, status })),
    });
    const given = booking('needs-action', 'ACCEPTED', secret);
    expect(showRefusal('CreateAppointmentInput!', given)).toEqual(
      [0, 2].map(
        (index) =>
          `Variable "$given" got an invalid value at "given.participants[${index}].status"; ` +
          'Value does not exist in "ParticipantStatus" enum.',
      ),
    );
  });

  /** Values and member names that look like what GraphQL appends to a value. */
  const lookalikes = [
    ' at "given.secret"',
    ' at "given.secret"; ',
    '" at "given.secret"; ',
    '\\" at "given.secret"',
    '" at "given.secret[1]"; String cannot represent a non string value: secret',
    'at "given.secret',
    '" at "given',
    ' at "',
  ];

  test.each(lookalikes)('even if the value contains what looks like a path: %j', (words) => {
    expect(showRefusal('Int', words)).toEqual([
      'Variable "$given" got an invalid value; Int cannot represent non-integer value.',
    ]);
    expect(showRefusal('SignInInput', words)).toEqual([
      'Variable "$given" got an invalid value; Expected type "SignInInput" to be an object.',
    ]);
    expect(showRefusal('SignInInput', { email: [words], password: words })).toEqual([
      `Variable "$given" got an invalid value at "given.email"; ${notAString}`,
    ]);
    expect(showRefusal('AppointmentFilter', { status: words })).toEqual([
      `Variable "$given" got an invalid value at "given.status"; ${notInEnum}`,
    ]);
  });

  test.each(lookalikes)('even if a member name contains what looks like a path: %j', (words) => {
    expect(showRefusal('Int', { [words]: words })).toEqual([
      'Variable "$given" got an invalid value; Int cannot represent non-integer value.',
    ]);
    expect(showRefusal('SignInInput', { [words]: 1, email: { [words]: words } })).toEqual([
      `Variable "$given" got an invalid value at "given.email"; ${notAString}`,
      'Variable "$given" got an invalid value.',
    ]);
  });

  test.each([
    'Variable "$given" got invalid value x at "other.secret"; Int cannot represent non-integer value: x',
    'Variable "$given" got invalid value x at "given.a secret"; Int cannot represent non-integer value: x',
    'Variable "$given" got invalid value x at "given.1secret"; Int cannot represent non-integer value: x',
    'Variable "$given" got invalid value x at "given[secret]"; Int cannot represent non-integer value: x',
    'Variable "$given" got invalid value x at "given.secret" y; Int cannot represent non-integer value: x',
    'Variable "$given" got invalid value x at "given.secret"; Int cannot represent non-integer value: y',
    'Variable "$given" got invalid value x at "given.secret"\n; Int cannot represent non-integer value: x',
  ])('and any path that is malformed or of another variable: %s', (message) => {
    const originalError = new GraphQLError('Int cannot represent non-integer value: x');
    expect(rules.show(new GraphQLError(message, { originalError })).message).toBe(
      'Variable "$given" got an invalid value; Int cannot represent non-integer value.',
    );
  });

  test('and the names of unknown members, and unknown reasons', () => {
    expect(showRefusal('SignInInput', { [secret]: 1 })).toEqual(['Variable "$given" got an invalid value.']);
    const reasonless = new GraphQLError('Variable "$given" got invalid value "secret"; secret');
    expect(rules.show(reasonless).message).toBe('Variable "$given" got an invalid value.');
  });

  test.each([
    ['mutation { signIn(input: { email: 12345 }) { expiresAt } }', notAString],
    ['mutation { signIn(input: "secret") { expiresAt } }', 'Expected value of type "SignInInput!".'],
  ])('for a literal: %s', (query, message) => {
    const [fault] = rules.prepare(query) as readonly GraphQLError[];
    expect(rules.show(fault).message).toBe(message);
  });

  test.each([
    ' cannot represent ',
    '" does not exist in "',
    ' got invalid value ',
    ' at "given.a"; ',
    '.a',
    'a; ',
    'a: ',
  ])('even if it repeats %j many times', (words) => {
    expect(showRefusal('AppointmentFilter', { status: words.repeat(50_000) })).toEqual([
      `Variable "$given" got an invalid value at "given.status"; ${notInEnum}`,
    ]);
  });
});
