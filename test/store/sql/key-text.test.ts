import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromKeyText, keyText } from '../../../src/store/sql/key-text.js';
import { engines } from '../../support/engines.js';
import { open } from '../open-database.js';

const anyText = fc.string({
  unit: fc.oneof(
    fc.integer({ min: 0, max: 0xff_ff }).map((code) => String.fromCharCode(code)),
    fc.constantFrom('\0', '\\', '"', '\ud800', '\udc00', '#', ':', '😀'),
  ),
});

describe('key texts', () => {
  test('decode to the original text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(fromKeyText(keyText(text))).toBe(text);
      }),
    );
  });

  test('are equal only for equal texts', () => {
    fc.assert(
      fc.property(anyText, anyText, (one, other) => {
        expect(keyText(one) === keyText(other)).toBe(one === other);
      }),
    );
  });

  test('of any 216 characters decode to the original text', () => {
    for (const character of ['\0', '\ud800', '"', 'é', '漢'])
      expect(fromKeyText(keyText(character.repeat(216)))).toBe(character.repeat(216));
  });

  test('of long texts are short and distinct, and no other text has them', () => {
    const long = 'x'.repeat(100_000);
    const key = keyText(long);
    expect(key).toHaveLength(45);
    expect(keyText(`${long}y`)).not.toBe(key);
    expect(keyText(key)).not.toBe(key);
    expect(fromKeyText(key)).toBe(key);
  });
});

describe.each(engines)('key texts on %s', (_, freshUrl) => {
  test('are stored unchanged and sorted by their bytes', async () => {
    const { kysely } = await open(await freshUrl());
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(anyText, { minLength: 1 }), async (texts) => {
        await kysely.deleteFrom('leases').execute();
        const rows = texts.map((text) => ({ key: keyText(text), holder: 'x', expires_at: 1 }));
        await kysely.insertInto('leases').values(rows).execute();
        const sorted = await kysely.selectFrom('leases').select('key').orderBy('key').execute();
        const expected = rows.map(({ key }) => Buffer.from(key)).toSorted(Buffer.compare);
        expect(sorted.map(({ key }) => key)).toEqual(expected.map(String));
      }),
      { numRuns: 40 },
    );
  });

  test('of the greatest length fit an index over two columns', async () => {
    const { kysely } = await open(await freshUrl());
    // Random, since Postgres would compress repetition.
    const random = (length: number) =>
      keyText(Array.from({ length }, () => String.fromCharCode(33 + Math.random() * 90)).join(''));
    const long = Array.from({ length: 40 }, (_key, i) => random(1_280 - i));
    const rows = long.map((key, i) => ({ reference: key, booking_id: long[(i + 1) % long.length]! }));
    await kysely.insertInto('booking_participants').values(rows).execute();
    expect(await kysely.selectFrom('booking_participants').selectAll().execute()).toHaveLength(40);
  });
});
