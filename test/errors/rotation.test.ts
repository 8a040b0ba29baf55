import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { codesOf } from '../support/testbed.js';
import { faultsOf, leaksOf, only, type Person, type Harness, startHarness } from './harness.js';

const rotate = `mutation ($input: RotatePaymentWebhookSecretInput!) { rotatePaymentWebhookSecret(input: $input) {
  endpointId rotatedAt previousSecretValidUntil errors { code message path } } }`;
const dayMs = 86_400_000;

let harness: Harness;
let person: Person;
let events = 0;

beforeAll(async () => {
  harness = await startHarness();
});
beforeEach(async () => {
  person = await harness.join();
});
afterAll(() => harness.stop());

const ask = (endpointId: string, by = person) => by.ask(rotate, { input: { endpointId } });
const secret = () => harness.sandbox.webhooks.endpoints().find(({ id }) => id === 'pe_demo')!.secret;

/** Sends a payment event, signed by each scheme with the secret given for it; returns the receiver's status. */
async function send(secrets: { readonly v1?: string; readonly v0?: string }): Promise<number> {
  const t = Math.floor(harness.sandbox.clock.now() / 1000);
  const body = JSON.stringify({
    id: `evt_${(events += 1)}`,
    object: 'event',
    api_version: '2026-01-01',
    type: 'payment.succeeded',
    created: t,
    livemode: false,
    data: { object: { id: 'pay_1', amount: 1, currency: 'eur', status: 'succeeded' } },
  });
  const sign = (key: string) => createHmac('sha256', key).update(`${t}.${body}`).digest('hex');
  const parts = Object.entries(secrets).map(([scheme, key]) => `${scheme}=${sign(key)}`);
  const headers = { 'payments-signature': [`t=${t}`, ...parts].join(',') };
  const { url } = harness.testbed;
  return (await fetch(`${url}/webhooks/payments/pe_demo`, { method: 'POST', headers, body })).status;
}

describe('rotatePaymentWebhookSecret', () => {
  test('reports NOT_FOUND for an endpoint that is not configured, without a call', async () => {
    const calls = await harness.callsOf(async () => {
      for (const id of ['pe_none', '', 'sub_demo', '../pe_demo', '\0']) {
        const payload = only(await ask(id));
        expect(payload).toMatchObject({ endpointId: null, rotatedAt: null, previousSecretValidUntil: null });
        expect(faultsOf(payload)).toEqual(['NOT_FOUND endpointId']);
      }
    });
    expect(calls).toEqual([]);
  });

  test('reports NOT_FOUND for an endpoint that the payment service does not know', async () => {
    const act = { kind: 'answer', status: 404, body: 'no such thing' } as const;
    harness.sandbox.faults.add({ service: 'payments', times: 1, act });
    expect(faultsOf(only(await ask('pe_demo')))).toEqual(['NOT_FOUND endpointId']);
    expect(await send({ v1: secret() })).toBe(200);
  });

  test('accepts the new secret at once, and the old one for 24 hours', async () => {
    const old = secret();
    const before = harness.sandbox.clock.now();
    const answer = await ask('pe_demo');
    const fresh = secret();
    const { endpointId, rotatedAt, previousSecretValidUntil, errors } = only(answer);
    expect([endpointId, errors, fresh === old]).toEqual(['pe_demo', [], false]);
    expect(Date.parse(rotatedAt)).toBeGreaterThanOrEqual(Math.floor(before));
    expect(Date.parse(previousSecretValidUntil) - Date.parse(rotatedAt)).toBe(dayMs);

    expect(await send({ v1: fresh })).toBe(200);
    expect(await send({ v1: fresh, v0: old })).toBe(200);
    expect(await send({ v1: 'lost by us', v0: old })).toBe(200);
    expect(await send({ v1: old })).toBe(200);
    expect(await send({ v1: 'another', v0: 'another' })).toBe(401);
    expect((await harness.sandbox.webhooks.emitPayment()).state).toBe('acknowledged');

    await harness.sandbox.clock.advance(dayMs);
    expect(await send({ v1: old })).toBe(401);
    expect(await send({ v1: 'lost by us', v0: old })).toBe(401);
    expect(await send({ v1: fresh })).toBe(200);
    expect(leaksOf(harness.testbed, [answer], [old, fresh])).toEqual([]);
  });

  test('accepts each replaced secret for its own 24 hours, whatever rotations follow', async () => {
    const first = secret();
    await ask('pe_demo');
    const second = secret();
    await harness.sandbox.clock.advance(dayMs / 2);
    await ask('pe_demo');
    for (const each of [secret(), second, first]) expect(await send({ v1: each })).toBe(200);
    await harness.sandbox.clock.advance(dayMs / 2);
    for (const each of [secret(), second]) expect(await send({ v1: each })).toBe(200);
    expect(await send({ v1: first })).toBe(401);
  });

  test('rotates once for each of five concurrent requests, and accepts the last secret', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask('pe_demo')));
    expect(answers.map((answer) => only(answer).errors)).toEqual([[], [], [], [], []]);
    expect((await harness.sandbox.webhooks.emitPayment()).state).toBe('acknowledged');
  });

  test('requires its grant', async () => {
    const calls = await harness.callsOf(async () => {
      const answer = await ask('pe_demo', await harness.join('none.example'));
      expect([codesOf(answer), answer.data]).toEqual([['FORBIDDEN'], null]);
    });
    expect(calls.filter((call) => call.includes('rotate'))).toEqual([]);
  });
});
