import { expect, test } from 'vitest';
import { answerText, encodeText } from '../../../src/server/operation/answer-text.js';

test.each([
  {},
  { data: null },
  {
    errors: [{ message: 'no' }],
    data: { a: null, 'b"': [1, { c: 'é\u2028\uD800' }] },
    extensions: { x: {} },
  },
  { errors: undefined, data: { a: undefined, b: true } },
  { data: Object.assign(Object.create(null) as object, { a: 1 }) },
  { data: {} },
])('the text of an answer is what JSON.stringify makes of it: %j', async (answer) => {
  expect(await answerText(answer, () => undefined)).toBe(JSON.stringify(answer));
});

test('waits before each root field for as long as it is told to', async () => {
  const waits: string[] = [];
  const text = await answerText({ data: { a: 1, b: 2 } }, () => {
    waits.push('asked');
    return Promise.resolve().then(() => void waits.push('went on'));
  });
  expect(text).toBe('{"data":{"a":1,"b":2}}');
  expect(waits).toEqual(['asked', 'went on', 'asked', 'went on']);
});

test.each([0, 1, 2])(
  'a long text is encoded in pieces that part no character (shifted by %d)',
  async (shift) => {
    const text = `${'x'.repeat(shift)}${'é😀'.repeat(800_000)}`;
    let waits = 0;
    const bytes = await encodeText(text, () => {
      waits += 1;
      return undefined;
    });
    expect(Buffer.from(text).equals(bytes as Buffer)).toBe(true);
    expect(waits).toBeGreaterThan(2);
  },
);

test('a short text is sent as it is', () => {
  expect(encodeText('{"data":{}}', () => undefined)).toBe('{"data":{}}');
});
