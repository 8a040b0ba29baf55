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

  test.each(['"tomorrow"', '5', '["2026-01-01T00:00:00Z"]'])(
    'the date-time %s is refused where it stands',
    (given) => {
      const query = `{ appointments(filter: { from: ${given} }) { nodes { id } } }`;
      const [fault] = rules.prepare(query) as readonly GraphQLError[];
      expect(rules.show(fault).locations).toEqual([{ line: 1, column: 32 }]);
    },
  );
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
    expect(refuseText(query)).toBeUndefined();
    expect(rules.prepare(query)).toMatchObject([{ extensions: { code: 'GRAPHQL_PARSE_FAILED' } }]);
  });
});

describe('a text of many lines', () => {
  const withLines = (count: number, end: string) => `{ viewer { name }${end.repeat(count - 1)}}`;

  test.each([
    ['ends of lines', '\n'],
    ['returns', '\r'],
    ['returns and ends of lines', '\r\n'],
  ])('is refused where a fault would be long in finding: %s', (_, end) => {
    expect(rules.prepare(withLines(10_000, end))).toHaveProperty('kind', 'Document');
    expect(rules.prepare(withLines(10_001, end))).toMatchObject([
      {
        message: 'The document has more than 10000 lines: pass long texts as variables.',
        extensions: { code: 'QUERY_TOO_COMPLEX' },
      },
    ]);
  });
});

describe('what was given is not repeated', () => {
  /** What is shown where the operation is run with a variable that its type does not take. */
  const showRefusal = (type: string, given: unknown) => {
    const [definition] = parse(`query ($given: ${type}) { __typename }`).definitions;
    const { variableDefinitions = [] } = definition as OperationDefinitionNode;
    const { errors = [] } = getVariableValues(schema, variableDefinitions, { given });
    expect(errors.length).toBeGreaterThan(0);
    return errors.map((error) => rules.show(error).message);
  };
  const secret = 'secret" cannot represent a: secret; secret" does not exist in "A" enum. secret';
  const enumGiven = 'Value does not exist in "AppointmentStatus" enum.';
  const noString = 'String cannot represent a non string value.';

  test.each<readonly [type: string, given: unknown, reason: string]>([
    ['AppointmentStatus', secret, enumGiven],
    ['AppointmentStatus', 'BOOKD', enumGiven],
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
  ])('of a variable of %s that is %o', (type, given, reason) => {
    expect(showRefusal(type, given)).toEqual([`Variable "$given" got an invalid value; ${reason}`]);
  });

  const isNull = 'Expected non-nullable type "ID!" not to be null.';

  test.each<readonly [place: string, type: string, given: unknown, reason: string]>([
    ['given.password', 'SignInInput', { email: secret, password: [secret] }, noString],
    ['given.id', 'UpdateNoteInput', { id: null, title: secret }, isNull],
    ['given.id', 'UpdateNoteInput', { id: [secret] }, 'ID cannot represent value.'],
    ['given[1]', '[Int]', [1, secret], 'Int cannot represent non-integer value.'],
  ])('of the member %s', (place, type, given, reason) => {
    expect(showRefusal(type, given)).toEqual([
      `Variable "$given" got an invalid value at "${place}"; ${reason}`,
    ]);
  });

  test('of the members of a list, each named', () => {
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

  /** Values, and names within values, that look as what GraphQL says after a value. */
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

  test.each(lookalikes)('nor is what a value has in it that looks as a place: %j', (words) => {
    expect(showRefusal('Int', words)).toEqual([
      'Variable "$given" got an invalid value; Int cannot represent non-integer value.',
    ]);
    expect(showRefusal('SignInInput', words)).toEqual([
      'Variable "$given" got an invalid value; Expected type "SignInInput" to be an object.',
    ]);
    expect(showRefusal('SignInInput', { email: [words], password: words })).toEqual([
      `Variable "$given" got an invalid value at "given.email"; ${noString}`,
    ]);
    expect(showRefusal('AppointmentFilter', { status: words })).toEqual([
      `Variable "$given" got an invalid value at "given.status"; ${enumGiven}`,
    ]);
  });

  test.each(lookalikes)('nor what a name has in it that does: %j', (words) => {
    expect(showRefusal('Int', { [words]: words })).toEqual([
      'Variable "$given" got an invalid value; Int cannot represent non-integer value.',
    ]);
    expect(showRefusal('SignInInput', { [words]: 1, email: { [words]: words } })).toEqual([
      `Variable "$given" got an invalid value at "given.email"; ${noString}`,
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
  ])('nor is any other place taken: %s', (message) => {
    const originalError = new GraphQLError('Int cannot represent non-integer value: x');
    expect(rules.show(new GraphQLError(message, { originalError })).message).toBe(
      'Variable "$given" got an invalid value; Int cannot represent non-integer value.',
    );
  });

  test('nor is what another name or another reason has in it', () => {
    expect(showRefusal('SignInInput', { [secret]: 1 })).toEqual(['Variable "$given" got an invalid value.']);
    const reasonless = new GraphQLError('Variable "$given" got invalid value "secret"; secret');
    expect(rules.show(reasonless).message).toBe('Variable "$given" got an invalid value.');
  });

  test.each([
    ['mutation { signIn(input: { email: 12345 }) { expiresAt } }', noString],
    ['mutation { signIn(input: "secret") { expiresAt } }', 'Expected value of type "SignInInput!".'],
  ])('of %s', (query, message) => {
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
  ])('however often it has %j in it', (words) => {
    expect(showRefusal('AppointmentFilter', { status: words.repeat(50_000) })).toEqual([
      `Variable "$given" got an invalid value at "given.status"; ${enumGiven}`,
    ]);
  });
});
