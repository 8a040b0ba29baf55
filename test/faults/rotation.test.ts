import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { FaultAction } from '../../src/sandbox/faults.js';
import { leaksOf, only, type Person, type Harness, startHarness } from '../errors/harness.js';
import { type Answered, codesOf } from '../support/testbed.js';
import { answer, failures, misshapen, serviceText, unhandled } from './acts.js';

const rotate = `mutation { rotatePaymentWebhookSecret(input: { endpointId: "pe_demo" }) {
  endpointId errors { code message path } } }`;

const rejections = unhandled();
const answers: Answered[] = [];
const secrets = new Set<string>();
let harness: Harness;
let quick: Harness;
let person: Person;

beforeAll(async () => {
  harness = await startHarness();
  quick = await startHarness({ sandbox: harness.sandbox, upstreamTimeoutMs: 1_000 });
});
beforeEach(async () => {
  harness.sandbox.deliverTo(harness.testbed.url);
  person = await harness.join();
});
afterAll(async () => {
  await quick.stop();
  await harness.stop();
});

const current = () => harness.sandbox.webhooks.endpoints()[0]!.secret;

async function ask(by: Person): Promise<Answered> {
  const given = await by.ask(rotate);
  answers.push(given);
  secrets.add(current());
  return given;
}

/** Expects that payments are accepted, whichever secret signs them. */
async function expectPayments(): Promise<void> {
  expect((await harness.sandbox.webhooks.emitPayment()).state).toBe('acknowledged');
}

/** Rotates while the service misbehaves, and again once it works; expects payments to be accepted throughout. */
async function rotateDuring(act: FaultAction, by: Person): Promise<Answered> {
  // The two gateways share no database: begin with a secret that this one knows.
  expect(only(await ask(by)).errors).toEqual([]);
  await expectPayments();
  const restore = harness.sandbox.faults.add({ service: 'payments', act });
  const given = await ask(by);
  restore();
  expect(given.data).toBeNull();
  await expectPayments();
  expect(only(await ask(by))).toEqual({ endpointId: 'pe_demo', errors: [] });
  await expectPayments();
  return given;
}

const afterwards = (act: FaultAction): FaultAction => ({ kind: 'afterwards', act });

describe('a rotation', () => {
  test.each(failures)(
    'gives its error code, and can be repeated, when the service %s',
    async (_, act, code) => {
      expect(codesOf(await rotateDuring(act, person))).toEqual([code]);
    },
  );

  test.each(misshapen)('is UPSTREAM_INVALID_RESPONSE if the answer is %s', async (_, act) => {
    expect(codesOf(await rotateDuring(afterwards(act), person))).toEqual(['UPSTREAM_INVALID_RESPONSE']);
  });

  test.each([{ secret: 5 }, { secret: '' }, { secret: null }, { key: 'whsec' }, { data: { secret: [] } }])(
    'is UPSTREAM_INVALID_RESPONSE if the answer is %j',
    async (body) => {
      const given = await rotateDuring(afterwards(answer(200, JSON.stringify(body))), person);
      expect(codesOf(given)).toEqual(['UPSTREAM_INVALID_RESPONSE']);
    },
  );

  test('says which setting to correct if the answer has an earlier secret', async () => {
    expect(only(await ask(person)).errors).toEqual([]);
    const act = afterwards(answer(200, JSON.stringify({ secret: current() })));
    const given = await rotateDuring(act, person);
    expect(codesOf(given)).toEqual(['UPSTREAM_INVALID_RESPONSE']);
    expect(given.errors![0]!.message).toMatch(/Set PAYMENTS_ROTATED_SECRET_FIELD .* rotate it again/);
  });

  test.each<readonly [string, FaultAction]>([
    ['its answer is cut', { kind: 'cut' }],
    ['it takes effect, and the connection closes', afterwards({ kind: 'refuse' })],
    ['it takes effect, and the service answers 500', afterwards(answer(500, serviceText))],
  ])('keeps the old secret valid, and asks to rotate again, if %s', async (_, act) => {
    const given = await rotateDuring(act, person);
    expect(codesOf(given)).toEqual(['UPSTREAM_UNAVAILABLE']);
    expect(given.errors![0]!.message).toMatch(/rotate it again/);
  });

  test.each<readonly [string, FaultAction]>([
    ['the service hangs', { kind: 'hang' }],
    ['it takes effect, and the service hangs', afterwards({ kind: 'hang' })],
  ])('is UPSTREAM_TIMEOUT if %s', async (_, act) => {
    harness.sandbox.deliverTo(quick.testbed.url);
    const by = await quick.join();
    expect(codesOf(await rotateDuring(act, by))).toEqual(['UPSTREAM_TIMEOUT']);
  });

  test.each([
    [401, 'UPSTREAM_UNAVAILABLE'],
    [403, 'UPSTREAM_UNAVAILABLE'],
    [400, 'UPSTREAM_INVALID_RESPONSE'],
    [409, 'UPSTREAM_INVALID_RESPONSE'],
    [429, 'RATE_LIMITED'],
  ])('refused with %i is %s', async (status, code) => {
    expect(codesOf(await rotateDuring(answer(status, serviceText), person))).toEqual([code]);
  });

  test('finds the new secret in any usual place, whatever the content type', async () => {
    for (const [place, body] of [
      ['signing_secret', { signing_secret: 'whsec_one' }],
      ['data', { data: { secret: 'whsec_two' } }],
      ['webhook', { webhook: { id: 'pe_demo', secret: 'whsec_three' } }],
    ] as const) {
      const restore = harness.sandbox.faults.add({
        service: 'payments',
        act: answer(200, JSON.stringify(body), 'text/plain'),
      });
      expect([place, only(await ask(person)).errors]).toEqual([place, []]);
      restore();
    }
    // The service itself does not know these three secrets.
    expect(only(await ask(person)).errors).toEqual([]);
    await expectPayments();
  });

  test('is repeated with an empty JSON object if the service answers 415', async () => {
    const [first, second] = await harness
      .callsOf(async () => {
        harness.sandbox.faults.add({ service: 'payments', times: 1, act: answer(415, serviceText) });
        expect(only(await ask(person)).errors).toEqual([]);
      })
      .then((calls) => calls.filter((call) => call.includes('rotate')));
    expect([first, second]).toEqual(Array(2).fill('POST /webhooks/pe_demo/rotate-secret'));
    await expectPayments();
  });

  test('does not ask to rotate again if nothing listens at the address', async () => {
    const lost = await startHarness({
      sandbox: harness.sandbox,
      settings: { PAYMENTS_BASE_URL: 'http://127.0.0.1:1/v1' },
    });
    const given = await ask(await lost.join());
    await lost.stop();
    expect(codesOf(given)).toEqual(['UPSTREAM_UNAVAILABLE']);
    expect(given.errors![0]!.message).not.toMatch(/rotate it again/);
  });

  test('shows and logs no secret and no text of the service', () => {
    expect(secrets.size).toBeGreaterThan(20);
    const hidden = [...secrets, 'whsec_one', 'whsec_two', 'whsec_three', serviceText];
    expect(leaksOf(harness.testbed, answers, hidden)).toEqual([]);
    expect(leaksOf(quick.testbed, [], hidden)).toEqual([]);
  });
});

test('no promise rejection was left unhandled', () => {
  expect(rejections).toEqual([]);
});
