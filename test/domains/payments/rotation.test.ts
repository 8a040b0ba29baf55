import { createHmac, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.js';
import { postGraphql } from '../../drain/requests.js';
import { paymentUpdates, subscribe, type Subscriber } from '../../replicas/subscriber.js';
import { engines } from '../../support/engines.js';
import { allGrants, type Testbed, startTestbed } from '../../support/testbed.js';
import { seriesIn } from '../../support/metrics.js';
import { execute } from '../../support/postgres.js';
import { startGatewayProcess } from '../../support/process.js';

const hourMs = 3_600_000;
const patience = { timeout: 30_000 };
const rotate = `mutation { rotatePaymentWebhookSecret(input: { endpointId: "pe_demo" }) {
  endpointId errors { code } } }`;

/** Many deliveries during any step of a rotation, and time for the gateway to do it. */
const paceMs = 10;

/** Sends payments all the time, two at once, to these gateways in turn. */
function startTraffic({ deliverTo, webhooks }: Sandbox, testbeds: readonly Testbed[]) {
  const statuses: (number | null)[] = [];
  const sent: string[] = [];
  let begun = 0;
  let running = true;
  async function send(): Promise<void> {
    while (running) {
      deliverTo(testbeds[begun % testbeds.length]!.url);
      begun += 1;
      const { eventId, attempts } = await webhooks.emitPayment();
      sent.push(eventId);
      statuses.push(attempts[0]!.status);
      await sleep(paceMs);
    }
  }
  const senders = Array.from({ length: 2 }, send);
  return {
    sent,
    statuses,
    begun: () => begun,
    /** Resolves once many more deliveries have been answered. */
    async untilMoreAnswered(): Promise<void> {
      const enough = statuses.length + 20;
      await expect.poll(() => statuses.length, patience).toBeGreaterThan(enough);
    },
    async stop(): Promise<void> {
      running = false;
      await Promise.all(senders);
    },
  };
}

/** Runs a statement on the database itself, past the gateways. */
async function run(url: string, statement: string): Promise<void> {
  if (!url.startsWith('sqlite:')) return void (await execute(url, statement));
  const file = new DatabaseSync(url.slice('sqlite:'.length), { timeout: 0 });
  // Waiting inside SQLite would keep the gateway, which is in this process, too, from finishing its write.
  await vi.waitFor(() => file.exec(statement), { ...patience, interval: 5 });
  file.close();
}

// On Postgres the deliveries go to two replicas in turn, and the rotations to the first.
describe.each(engines)('a rotation under traffic on %s', { timeout: 120_000 }, (engine, freshUrl) => {
  let sandbox: Sandbox;
  let url: string;
  let settings: Readonly<Record<string, string>>;
  let testbeds: Testbed[];
  let token: string;
  let subscriber: Subscriber;
  let traffic: ReturnType<typeof startTraffic>;
  let events: number;

  beforeEach(async () => {
    sandbox = await startSandbox();
    url = await freshUrl();
    settings = {
      ...sandbox.settings,
      DATABASE_URL: url,
      SECRET_KEYS: randomBytes(32).toString('base64'),
      GRANTS: JSON.stringify({ '*': allGrants }),
      LOG_LEVEL: 'warn',
    };
    testbeds = [];
    while (testbeds.length < (engine === 'sqlite' ? 1 : 2))
      testbeds.push(await startTestbed({ sandbox, settings }));
    token = await testbeds[0]!.signIn();
    subscriber = await subscribe(testbeds.at(-1)!.url, token, { query: paymentUpdates });
    traffic = startTraffic(sandbox, testbeds);
    events = 0;
    await traffic.untilMoreAnswered();
  });
  afterEach(async () => {
    await traffic.stop();
    for (const testbed of testbeds) await testbed.stop();
    await sandbox.stop();
  });

  const current = () => sandbox.webhooks.endpoints()[0]!.secret;
  const refusals = async () => {
    const texts = await Promise.all(testbeds.map(({ telemetry }) => telemetry.metrics.text()));
    return texts
      .flatMap((text) => [...seriesIn(text)])
      .filter(([name, value]) => name.includes('refused') && value > 0);
  };

  /** Rotates by the gateway; the service's answer is late, so that deliveries by the new secret arrive before it. */
  async function rotateByGateway(meanwhile = async () => {}, ms = 500) {
    const before = current();
    sandbox.faults.add({
      service: 'payments',
      times: 1,
      act: { kind: 'afterwards', act: { kind: 'delay', ms } },
    });
    const begun = traffic.begun();
    const rotation = testbeds[0]!.ask(rotate, {}, token);
    await expect.poll(current, { ...patience, interval: 5 }).not.toBe(before);
    await meanwhile();
    const { data, errors } = await rotation;
    expect(traffic.begun()).toBeGreaterThan(begun);
    return { payload: data?.rotatePaymentWebhookSecret as unknown, message: errors?.[0]?.message };
  }
  const rotated = { payload: { endpointId: 'pe_demo', errors: [] }, message: undefined };

  /** The last gateway's answer to an event signed by this secret alone. */
  function send(secret: string): Promise<Response> {
    const t = Math.floor(sandbox.clock.now() / 1000);
    const body = JSON.stringify({ id: `signed ${(events += 1)}`, type: 'payment.other', created: t });
    const v1 = createHmac('sha256', secret).update(`${t}.${body}`).digest('hex');
    const headers = { 'payments-signature': `t=${t},v1=${v1}` };
    const path = `${testbeds.at(-1)!.url}/webhooks/payments/pe_demo`;
    return fetch(path, { method: 'POST', headers, body });
  }
  const statusFor = async (secret: string) => (await send(secret)).status;

  /** Expects that nothing was refused or lost, and that a day later only the current secret is valid. */
  async function expectNothingLost(previous: string): Promise<void> {
    await traffic.untilMoreAnswered();
    await traffic.stop();
    expect([new Set(traffic.statuses), await refusals()]).toEqual([new Set([200]), []]);
    await expect.poll(() => subscriber.got.toSorted(), patience).toEqual(traffic.sent.toSorted());
    await sandbox.clock.advance(23 * hourMs);
    expect([await statusFor(current()), await statusFor(previous)]).toEqual([200, 200]);
    await sandbox.clock.advance(hourMs);
    expect([await statusFor(current()), await statusFor(previous)]).toEqual([200, 401]);
    expect((await sandbox.webhooks.emitPayment()).state).toBe('acknowledged');
  }

  test('loses nothing if the gateway begins it', { retry: 0 }, async () => {
    const previous = current();
    expect(await rotateByGateway()).toEqual(rotated);
    await expectNothingLost(previous);
  });

  test('loses nothing if the sender begins it and the gateway repeats it', { retry: 0 }, async () => {
    const previous = current();
    sandbox.webhooks.rotateSecret('pe_demo');
    await traffic.untilMoreAnswered();
    expect(await rotateByGateway()).toEqual(rotated);
    await expectNothingLost(previous);
  });

  test('loses nothing if its secret cannot be stored and it is repeated', { retry: 0 }, async () => {
    const previous = current();
    const failed = await rotateByGateway(() => run(url, 'alter table webhook_secrets rename to away'));
    expect(failed.message).toMatch(/rotate it again/);
    await run(url, 'alter table away rename to webhook_secrets');
    await traffic.untilMoreAnswered();
    expect(await rotateByGateway()).toEqual(rotated);
    await expectNothingLost(previous);
  });

  test('makes some forged deliveries wait, answers 503 to the others, and accepts valid ones', async () => {
    const previous = current();
    const forged: Promise<Response>[] = [];
    const answered: Response[] = [];
    const forge = () => {
      const sent = send('forged');
      forged.push(sent);
      void sent.then((response) => answered.push(response));
    };
    const flood = async () => {
      for (let count = 0; count < 110; count++) forge();
      await vi.waitFor(() => {
        forge();
        expect(answered.map(({ status }) => status)).toContain(503);
      }, patience);
      await traffic.untilMoreAnswered();
    };
    expect(await rotateByGateway(flood, 5_000)).toEqual(rotated);
    const answers = (await Promise.all(forged)).map(
      ({ status, headers }) => `${status} ${headers.get('retry-after')}`,
    );
    expect(new Set(answers)).toEqual(new Set(['401 null', '503 5']));
    expect(answers.filter((each) => each.startsWith('401')).length).toBeGreaterThanOrEqual(100);
    await traffic.stop();
    expect(new Set(traffic.statuses)).toEqual(new Set([200]));
    expect([await statusFor(current()), await statusFor(previous)]).toEqual([200, 200]);
  });

  // Only Postgres can have another replica.
  if (engine !== 'postgres') return;

  test('loses nothing if its replica is killed and another replica repeats it', { retry: 0 }, async () => {
    const previous = current();
    const replica = await startGatewayProcess(settings);
    sandbox.faults.add({
      service: 'payments',
      times: 1,
      act: { kind: 'afterwards', act: { kind: 'hang' } },
    });
    const gone = postGraphql(replica.url, rotate, {}, { token }).catch(() => 'gone');
    await expect.poll(current, patience).not.toBe(previous);
    await replica.end('SIGKILL');
    expect(await gone).toBe('gone');
    await traffic.untilMoreAnswered();
    expect(await rotateByGateway()).toEqual(rotated);
    await expectNothingLost(previous);
  });
});
