import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Answered } from '../support/testbed.js';
import { startHarness, type Harness, type Person } from './harness.js';

let harness: Harness;
let person: Person;

beforeAll(async () => {
  harness = await startHarness();
  person = await harness.join();
});
afterAll(() => harness.stop());

const actor = { reference: 'Patient/1' };
const participant = { actor, status: 'ACCEPTED' };
const appointment = {
  status: 'BOOKED',
  start: '2026-11-21T09:00:00Z',
  end: '2026-11-21T10:00:00Z',
  participants: [participant],
};
const secret = 'a password that nobody may see';

/** A mutation, its input, and the member that the schema requires. */
type Case = readonly [mutation: string, input: Readonly<Record<string, unknown>>, member: string];

const wholeInputs: readonly (readonly [mutation: string, input: Readonly<Record<string, unknown>>])[] = [
  ['signIn', { email: 'a@example.com', password: secret }],
  ['createNote', { title: 'T', content: 'C' }],
  ['updateNote', { id: 'x' }],
  ['deleteNote', { id: 'x' }],
  ['shareNote', { id: 'x', email: 'a@example.com', permission: 'READ' }],
  ['createAppointment', appointment],
  ['rotatePaymentWebhookSecret', { endpointId: 'x' }],
];
const cases: readonly Case[] = wholeInputs.flatMap(([mutation, input]) =>
  Object.keys(input).map((member): Case => [mutation, input, member]),
);

const typeOf = (mutation: string) => `${mutation[0]!.toUpperCase()}${mutation.slice(1)}Input!`;
const ask = (mutation: string, input: object): Promise<Answered> =>
  person.ask(`mutation ($input: ${typeOf(mutation)}) { ${mutation}(input: $input) { __typename } }`, {
    input,
  });

/** What is said of an input, if it is refused before the operation begins: nothing is called, nothing given repeated. */
async function refusalOf(mutation: string, input: object): Promise<string> {
  let said = '';
  const calls = await harness.callsOf(async () => {
    const answer = await ask(mutation, input);
    expect(answer.data).toBeUndefined();
    expect(answer.errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
    said = JSON.stringify(answer);
  });
  expect(calls).toEqual([]);
  expect(said).not.toContain(secret);
  return said;
}

test.each(cases)('%s with %j needs %s', async (mutation, input, member) => {
  const { [member]: _, ...rest } = input;
  expect(await refusalOf(mutation, rest)).toContain(member);
  expect(await refusalOf(mutation, { ...rest, [member]: null })).toContain(member);
});

test.each([
  ['status', { actor }],
  ['actor', { status: 'ACCEPTED' }],
  ['reference', { actor: {}, status: 'ACCEPTED' }],
])('createAppointment needs %s of each participant', async (member, incomplete) => {
  const participants = [participant, incomplete];
  expect(await refusalOf('createAppointment', { ...appointment, participants })).toContain(member);
});
