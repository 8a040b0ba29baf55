import { getVariableValues, GraphQLError, parse, validate, type OperationDefinitionNode } from 'graphql';
import { describe, expect, test } from 'vitest';
import { createSchema } from '../../support/schema.js';
import { withoutValue } from '../../../src/server/operation/redact-values.js';

const schema = createSchema();

describe('the message about an invalid value omits the value', () => {
  /** The messages shown when the value of a variable does not fit its type. */
  const showRefusal = (type: string, given: unknown) => {
    const [definition] = parse(`query ($given: ${type}) { __typename }`).definitions;
    const { variableDefinitions = [] } = definition as OperationDefinitionNode;
    const { errors = [] } = getVariableValues(schema, variableDefinitions, { given });
    expect(errors.length).toBeGreaterThan(0);
    return errors.map((error) => withoutValue(error, schema));
  };
  const secret = 'secret" cannot represent a: secret; secret" does not exist in "A" enum. secret';
  const notInEnum =
    'Value does not exist in "AppointmentStatus" enum. Did you mean one of BOOKED, CANCELLED, FULFILLED, NOSHOW?';
  const notAString = 'String cannot represent a non string value.';

  test.each<readonly [type: string, given: unknown, reason: string]>([
    ['AppointmentStatus', secret, notInEnum],
    ['AppointmentStatus', 'BOOKD', notInEnum],
    ['AppointmentStatus', [secret], 'Enum "AppointmentStatus" cannot represent non-string value.'],
    ['SignInInput', secret, 'Expected type "SignInInput" to be an object.'],
    [
      'SignInInput',
      { email: 'a', password: secret, emial: secret },
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
      start: secret,
      end: secret,
      participants: statuses.map((status) => ({ actor: { reference: secret }, status })),
    });
    const given = booking('needs-action', 'ACCEPTED', secret);
    expect(showRefusal('CreateAppointmentInput!', given)).toEqual(
      [0, 2].map(
        (index) =>
          `Variable "$given" got an invalid value at "given.participants[${index}].status"; ` +
          'Value does not exist in "ParticipantStatus" enum. Did you mean one of ACCEPTED, DECLINED, TENTATIVE, NEEDS_ACTION?',
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
    expect(showRefusal('SignInInput', { [words]: 1, email: { [words]: words }, password: words })).toEqual([
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
    expect(withoutValue(new GraphQLError(message, { originalError }), schema)).toBe(
      'Variable "$given" got an invalid value; Int cannot represent non-integer value.',
    );
  });

  test('and the names of unknown members, and unknown reasons', () => {
    const whole = { email: secret, password: secret };
    expect(showRefusal('SignInInput', { ...whole, [secret]: 1 })).toEqual([
      'Variable "$given" got an invalid value.',
    ]);
    const reasonless = new GraphQLError('Variable "$given" got invalid value "secret"; secret');
    expect(withoutValue(reasonless, schema)).toBe('Variable "$given" got an invalid value.');
  });

  test('and has each member that is missing', () => {
    expect(showRefusal('SignInInput', { emial: secret })).toEqual(
      [
        'Field "email" of required type "String!" was not provided.',
        'Field "password" of required type "String!" was not provided.',
        'Field "emial" is not defined by type "SignInInput". Did you mean "email"?',
      ].map((reason) => `Variable "$given" got an invalid value; ${reason}`),
    );
  });

  test.each([
    ['mutation { signIn(input: { email: 12345, password: "secret" }) { expiresAt } }', notAString],
    [
      'mutation { signIn(input: { password: "secret" }) { expiresAt } }',
      'Field "SignInInput.email" of required type "String!" was not provided.',
    ],
    ['mutation { signIn(input: "secret") { expiresAt } }', 'Expected value of type "SignInInput!".'],
  ])('for a literal: %s', (query, message) => {
    expect(validate(schema, parse(query)).map((error) => withoutValue(error, schema))).toEqual([message]);
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
