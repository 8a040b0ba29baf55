import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toGlobalId } from '../../src/graphql/global-id.js';
import { codesOf } from '../support/testbed.js';
import { type Person, type Harness, startHarness } from './harness.js';

const message = 'One operation may read no more than about 64 MiB from the database: request smaller pages.';
const refused = { data: undefined, errors: [{ message, extensions: { code: 'QUERY_TOO_COMPLEX' } }] };

let harness: Harness;
let person: Person;

beforeAll(async () => {
  harness = await startHarness();
  person = await harness.join();
  for (let count = 18; count > 0; count -= 1)
    await harness.sandbox.webhooks.emitPayment({ id: `evt_${count}`, object: { id: 'pay_1' } });
  const database = new DatabaseSync(join(harness.testbed.folder, 'gateway.db'), { timeout: 5_000 });
  database
    .prepare(`update events set event = json_set(event, '$.data', json_object('long', ?))`)
    .run('x'.repeat(4 * 1024 * 1024));
  database.close();
});
afterAll(() => harness.stop());

/** Asks three times, as repeated queries are compiled and answered so; expects equal answers. */
async function ask(query: string, variables: object = {}) {
  const answers = [];
  for (let times = 0; times < 3; times += 1) {
    const { data, errors } = await person.ask(query, variables);
    answers.push({ data, errors });
  }
  expect(answers).toEqual([answers[0], answers[0], answers[0]]);
  return answers[0]!;
}

describe('more than 64 MiB of events are refused', () => {
  const page =
    'query ($first: Int!) { payment(paymentId: "pay_1") { events(first: $first) { nodes { id } } } }';
  const list = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';
  const ids = Array.from({ length: 18 }, (_, at) => toGlobalId('PaymentEvent', `evt_${at + 1}`));

  test('in a page', async () => {
    const { data } = await ask(page, { first: 12 });
    expect(data.payment.events.nodes).toHaveLength(12);
    expect(await ask(page, { first: 18 })).toEqual(refused);
  });

  test('by their ids', async () => {
    const { data } = await ask(list, { ids: ids.slice(0, 12) });
    expect(data.nodes).toHaveLength(12);
    expect(await ask(list, { ids })).toEqual(refused);
  });

  test('in several fields of one operation, counting equal fields once', async () => {
    const part = (name: string, which: string) =>
      `${name}: payment(paymentId: "pay_1") { events(${which}) { nodes { id } } }`;
    const same = `{ ${part('a', 'first: 8')} ${part('b', 'first: 8')} }`;
    expect(await ask(same)).toMatchObject({ errors: undefined });
    expect(await ask(`{ ${part('a', 'first: 8')} ${part('b', 'last: 8')} }`)).toEqual(refused);
  });

  test('counting each event once, even if the operation is run again after an error', async () => {
    const { data, errors } = await ask(
      `{ ok: payment(paymentId: "pay_1") { events(first: 12) { nodes { id } } } not: payments(first: 101) { nodes { id } } }`,
    );
    expect([data, codesOf({ errors })]).toEqual([null, ['BAD_USER_INPUT']]);
  });
});
