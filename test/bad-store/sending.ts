import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { expect, onTestFinished, vi } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.js';
import { readContents } from '../chaos/contents.js';
import { startGatewayProcess, type GatewayProcess, type ProcessOptions } from '../support/process.js';

const id = 'pe_1';
const secret = 'a-secret-of-the-test';

/** The settings of a gateway on this database, with the endpoint that `createSender` sends to. */
export const settingsFor = (sandbox: Sandbox, databaseUrl: string) => ({
  ...sandbox.settings,
  DATABASE_URL: databaseUrl,
  SECRET_KEYS: randomBytes(32).toString('base64'),
  PAYMENT_WEBHOOKS: `${id}=${secret}`,
  LOG_LEVEL: 'warn',
});

/** Starts a gateway that ends with the test. */
export async function start(
  settings: ReturnType<typeof settingsFor>,
  options: ProcessOptions = {},
): Promise<GatewayProcess> {
  const gateway = await startGatewayProcess(settings, options);
  onTestFinished(async () => void (await gateway.end('SIGKILL')));
  return gateway;
}

/** A sender of payments that records which of them were acknowledged. */
export function createSender({ url }: Pick<GatewayProcess, 'url'>, acknowledged: string[] = []) {
  async function send(weight = 0): Promise<Response> {
    const event = `evt_${randomUUID()}`;
    const now = Math.floor(Date.now() / 1000);
    const object = { id: 'pay_1', amount: 1, note: 'x'.repeat(weight) };
    const body = JSON.stringify({ id: event, type: 'payment.succeeded', created: now, data: { object } });
    const mac = createHmac('sha256', secret).update(`${now}.${body}`).digest('hex');
    const answer = await fetch(`${url}/webhooks/payments/${id}`, {
      method: 'POST',
      headers: { 'payments-signature': `t=${now},v1=${mac}` },
      body,
    });
    if (answer.status === 200) acknowledged.push(event);
    return answer;
  }

  return {
    acknowledged,
    send,
    async expectTaken(): Promise<void> {
      await vi.waitFor(async () => expect((await send()).status).toBe(200), {
        timeout: 60_000,
        interval: 200,
      });
    },
    /** Sends an event and expects 503 with `Retry-After`. */
    async expectRefused(weight = 0): Promise<void> {
      const refused = await send(weight);
      expect(refused.status).toBe(503);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await refused.json()).toEqual({
        error: { code: 'UNAVAILABLE', message: expect.stringMatching(/send it again later/) },
      });
    },
  };
}

/** The ids of the events that the database holds. */
export async function stored(databaseUrl: string): Promise<string[]> {
  return (await readContents(databaseUrl)).events.map(({ event_id }) => event_id);
}

/** Waits until `/readyz` answers with this status; `/livez` must answer 200 all the same. */
export async function expectReadiness({ url }: GatewayProcess, status: 200 | 503): Promise<void> {
  const ask = async () => expect((await fetch(`${url}/readyz`)).status).toBe(status);
  await vi.waitFor(ask, { timeout: 60_000, interval: 200 });
  expect((await fetch(`${url}/livez`)).status).toBe(200);
}
