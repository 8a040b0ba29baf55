import { describe, expect, test } from 'vitest';
import { grantsOf, type GrantTable } from '../../../src/domains/sessions/grants.js';

const table: GrantTable = new Map([
  ['ann@example.com', ['WEBHOOKS_ROTATE']],
  ['*@example.com', ['SHIPMENTS_READ', 'PAYMENTS_READ']],
  ['*', ['APPOINTMENTS_READ', 'SHIPMENTS_READ']],
]);
const of = (email: string) => [...grantsOf(table, email)].toSorted();

describe('grants', () => {
  test('combine those of the address, its domain and everybody', () => {
    expect(of('ann@example.com')).toEqual([
      'APPOINTMENTS_READ',
      'PAYMENTS_READ',
      'SHIPMENTS_READ',
      'WEBHOOKS_ROTATE',
    ]);
    expect(of('bob@example.com')).toEqual(['APPOINTMENTS_READ', 'PAYMENTS_READ', 'SHIPMENTS_READ']);
    expect(of('ann@example.org')).toEqual(['APPOINTMENTS_READ', 'SHIPMENTS_READ']);
  });

  test('do not depend on letter case', () => {
    expect(of('Ann@Example.COM')).toEqual(of('ann@example.com'));
  });

  test.each([
    'ann@example.com.evil.org',
    'x@sub.example.com',
    'example.com',
    '"@example.com"@evil.org',
    '*',
    '',
  ])('match no domain but the whole of what follows the last @: %s', (email) =>
    expect(of(email)).toEqual(['APPOINTMENTS_READ', 'SHIPMENTS_READ']),
  );

  test('are none if the table is empty', () => {
    expect([...grantsOf(new Map(), 'ann@example.com')]).toEqual([]);
  });
});
