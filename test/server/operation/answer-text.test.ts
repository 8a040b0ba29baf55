import { expect, test } from 'vitest';
import { LaterJson } from '../../../src/lib/json.js';
import { answerParts, encodeText } from '../../../src/server/operation/answer-text.js';

const everything = () => true;
const textOf = async (answer: object, breathe: () => Promise<void> | undefined = () => undefined) =>
  (await answerParts(answer, breathe, everything))?.join('');

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
  { data: { a: [], b: { toJSON: () => 'é' }, c: [[{}], [{ d: { e: { f: [1] } } }]] } },
])('the text of an answer is what JSON.stringify makes of it: %j', async (answer) => {
  expect(await textOf(answer)).toBe(JSON.stringify(answer));
});

test('is made in parts: waits for as long as it is told to after each', async () => {
  const long = 'x'.repeat(100_000);
  const nodes = [{ content: long }, { content: long, others: [long] }, long, 'short'];
  const waits: string[] = [];
  const text = await textOf({ data: { notes: { nodes } } }, () => {
    waits.push('asked');
    return Promise.resolve().then(() => void waits.push('went on'));
  });
  expect(text).toBe(JSON.stringify({ data: { notes: { nodes } } }));
  expect(waits.join()).toBe('asked,went on,asked,went on,asked,went on');
});

test('is made in parts also where a client has given fields the name toJSON', async () => {
  const nodes = Array.from({ length: 5 }, () => ({ toJSON: 'Note', content: 'x'.repeat(100_000) }));
  const answer = { data: { toJSON: 'Query', notes: { toJSON: null, nodes } } };
  const parts = (await answerParts(answer, () => undefined, everything))!;
  expect(parts.join('')).toBe(JSON.stringify(answer));
  expect(parts).toHaveLength(6);
});

test('is not made of an answer that is longer than it may be', async () => {
  const answer = { data: { notes: Array<string>(10).fill('é'.repeat(20_000)) } };
  const { length } = JSON.stringify(answer);
  const within = await answerParts(answer, () => undefined, everything, length);
  expect(within?.join('')).toBe(JSON.stringify(answer));
  expect(await answerParts(answer, () => undefined, everything, length - 1)).toBeUndefined();
});

test('is made in parts of the data of events, however deep they are', async () => {
  const data = new LaterJson(`"${'x'.repeat(100_000)}"`);
  const answer = {
    data: { payments: { nodes: [{ events: { nodes: [{ a: data, b: data, c: [data] }] } }] } },
  };
  const parts = (await answerParts(answer, () => undefined, everything))!;
  expect(parts.join('')).toBe(JSON.stringify(answer));
  expect(parts).toHaveLength(4);
});

test('is not made if there is no room for a part of it', async () => {
  const answer = { data: { notes: Array<string>(10).fill('x'.repeat(60_000)) } };
  let room = 400_000;
  const keep = (bytes: number) => (room -= bytes) > 0;
  expect(await answerParts(answer, () => undefined, keep)).toBeUndefined();
  expect(room).toBeGreaterThan(-200_000);
});

test.each([0, 1, 2])(
  'a long text is encoded in pieces that part no character (shifted by %d)',
  async (shift) => {
    const text = `${'x'.repeat(shift)}${'é😀'.repeat(800_000)}`;
    let waits = 0;
    const bytes = await encodeText([text, '', 'é'], () => {
      waits += 1;
      return undefined;
    });
    expect(Buffer.from(`${text}é`).equals(bytes as Buffer)).toBe(true);
    expect(waits).toBeGreaterThan(2);
  },
);

test('a short text is sent as it is', () => {
  expect(encodeText(['{"data":{}}', '\n'], () => undefined)).toBe('{"data":{}}\n');
});
