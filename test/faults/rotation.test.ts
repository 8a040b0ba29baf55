import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { FaultAction } from '../../src/sandbox/faults.js';
import { leaksOf, only, type Person, type Room, startRoom } from '../errors/room.js';
import { type Answered, codesOf } from '../support/testbed.js';
import { answer, failures, misshapen, serviceWords, unhandled } from './acts.js';

const rotate = `mutation { rotatePaymentWebhookSecret(input: { endpointId: "pe_demo" }) {
  endpointId errors { code message path } } }`;

const rejections = unhandled();
const answers: Answered[] = [];
const secrets = new Set<string>();
let room: Room;
let quick: Room;
let person: Person;

beforeAll(async () => {
  room = await startRoom();
  quick = await startRoom({ sandbox: room.sandbox, upstreamTimeoutMs: 250 });
});
beforeEach(async () => {
  room.sandbox.deliverTo(room.testbed.url);
  person = await room.join();
});
afterAll(async () => {
  await quick.stop();
  await room.stop();
});

const current = () => room.sandbox.webhooks.endpoints()[0]!.secret;

async function ask(by: Person): Promise<Answered> {
  const given = await by.ask(rotate);
  answers.push(given);
  secrets.add(current());
  return given;
}

/** Payments go on arriving, whatever has become of the secret. */
async function expectPayments(): Promise<void> {
  expect((await room.sandbox.webhooks.emitPayment()).state).toBe('acknowledged');
}

/** Rotates while the service misbehaves, then with it well again; payments arrive throughout. */
async function tried(act: FaultAction, by: Person): Promise<Answered> {
  // What one gateway has rotated, the other has not heard of: begin with a secret that this one knows.
  expect(only(await ask(by)).errors).toEqual([]);
  await expectPayments();
  const back = room.sandbox.faults.add({ service: 'payments', act });
  const given = await ask(by);
  back();
  expect(given.data).toBeNull();
  await expectPayments();
  expect(only(await ask(by))).toEqual({ endpointId: 'pe_demo', errors: [] });
  await expectPayments();
  return given;
}

const afterwards = (act: FaultAction): FaultAction => ({ kind: 'afterwards', act });

describe('a rotation', () => {
  test.each(failures)('when the service %s', async (_, act, code) => {
    expect(codesOf(await tried(act, person))).toEqual([code]);
  });

  test.each(misshapen)('that is answered with %s', async (_, act) => {
    expect(codesOf(await tried(afterwards(act), person))).toEqual(['UPSTREAM_INVALID_RESPONSE']);
  });

  test.each([{ secret: 5 }, { secret: '' }, { secret: null }, { key: 'whsec' }, { data: { secret: [] } }])(
    'that is answered with %j',
    async (body) => {
      const given = await tried(afterwards(answer(200, JSON.stringify(body))), person);
      expect(codesOf(given)).toEqual(['UPSTREAM_INVALID_RESPONSE']);
    },
  );

  test.each<readonly [string, FaultAction]>([
    ['is cut', { kind: 'cut' }],
    ['takes effect, and the connection ends', afterwards({ kind: 'refuse' })],
    ['takes effect, and 500 is answered', afterwards(answer(500, serviceWords))],
  ])(
    'that %s: the secret is lost, the old one goes on working, and one is told to rotate again',
    async (_, act) => {
      const given = await tried(act, person);
      expect(codesOf(given)).toEqual(['UPSTREAM_UNAVAILABLE']);
      expect(given.errors![0]!.message).toMatch(/rotate it again/);
    },
  );

  test.each<readonly [string, FaultAction]>([
    ['hangs', { kind: 'hang' }],
    ['takes effect, and then hangs', afterwards({ kind: 'hang' })],
  ])('that %s', async (_, act) => {
    room.sandbox.deliverTo(quick.testbed.url);
    const by = await quick.join();
    expect(codesOf(await tried(act, by))).toEqual(['UPSTREAM_TIMEOUT']);
  });

  test.each([
    [401, 'UPSTREAM_UNAVAILABLE'],
    [403, 'UPSTREAM_UNAVAILABLE'],
    [400, 'UPSTREAM_INVALID_RESPONSE'],
    [409, 'UPSTREAM_INVALID_RESPONSE'],
    [429, 'RATE_LIMITED'],
  ])('that is refused with %i', async (status, code) => {
    expect(codesOf(await tried(answer(status, serviceWords), person))).toEqual([code]);
  });

  test('takes the secret from where it may be, whatever the content type', async () => {
    for (const [place, body] of [
      ['signing_secret', { signing_secret: 'whsec_one' }],
      ['data', { data: { secret: 'whsec_two' } }],
      ['webhook', { webhook: { id: 'pe_demo', secret: 'whsec_three' } }],
    ] as const) {
      const back = room.sandbox.faults.add({
        service: 'payments',
        act: answer(200, JSON.stringify(body), 'text/plain'),
      });
      expect([place, only(await ask(person)).errors]).toEqual([place, []]);
      back();
    }
    // The service itself knows nothing of these three.
    expect(only(await ask(person)).errors).toEqual([]);
    await expectPayments();
  });

  test('is made with an empty body where the service wants one', async () => {
    const [first, second] = await room
      .callsOf(async () => {
        room.sandbox.faults.add({ service: 'payments', times: 1, act: answer(415, serviceWords) });
        expect(only(await ask(person)).errors).toEqual([]);
      })
      .then((calls) => calls.filter((call) => call.includes('rotate')));
    expect([first, second]).toEqual(Array(2).fill('POST /webhooks/pe_demo/rotate-secret'));
    await expectPayments();
  });

  test('where nothing listens', async () => {
    const lost = await startRoom({
      sandbox: room.sandbox,
      settings: { PAYMENTS_BASE_URL: 'http://127.0.0.1:1/v1' },
    });
    const given = await ask(await lost.join());
    await lost.stop();
    expect(codesOf(given)).toEqual(['UPSTREAM_UNAVAILABLE']);
    expect(given.errors![0]!.message).not.toMatch(/rotate it again/);
  });

  test('shows and logs neither a secret nor a word of the service', () => {
    expect(secrets.size).toBeGreaterThan(20);
    const hidden = [...secrets, 'whsec_one', 'whsec_two', 'whsec_three', serviceWords];
    expect(leaksOf(room.testbed, answers, hidden)).toEqual([]);
    expect(leaksOf(quick.testbed, [], hidden)).toEqual([]);
  });
});

test('no promise was left to fail alone', () => {
  expect(rejections).toEqual([]);
});
