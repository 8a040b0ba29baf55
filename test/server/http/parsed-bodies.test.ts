import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { scrape } from '../../support/metrics.js';
import { startTestbed, type Testbed } from '../../support/testbed.js';
import { bytesOf, Wire } from '../balance/raw-clients.js';

const bodyOf = (length: number) =>
  JSON.stringify({ query: '{ __typename }', variables: { text: 'x'.repeat(length) } });
const [short, long] = [bodyOf(1_000), bodyOf(100_000)];

describe('the memory for what was parsed of a request is released', () => {
  let testbed: Testbed;
  beforeAll(async () => {
    testbed = await startTestbed({ settings: { LOG_LEVEL: 'silent' } });
  });
  afterAll(() => testbed.stop());

  const held = () => scrape(testbed.telemetry.metrics, 'trivium_memory_held_bytes{kind="parsed"}');

  async function statusOf(body: string, headers: Record<string, string> = {}): Promise<number> {
    const response = await fetch(`${testbed.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    await response.text();
    return response.status;
  }

  test.each<readonly [string, string, Record<string, string>, number]>([
    ['it is answered', long, {}, 200],
    ['it turns out not to be JSON', short.slice(0, -1), {}, 400],
    ['it turns out not to be JSON when its turn comes', long.slice(0, -1), {}, 400],
    ['it accepts no answer that there is', short, { accept: 'image/png' }, 406],
    ['it is answered as a stream', short, { accept: 'text/event-stream' }, 200],
  ])('once %s', async (_, body, headers, status) => {
    expect(await statusOf(body, headers)).toBe(status);
    await expect.poll(held).toBe(0);
  });

  test('once its turn has come, where many end together: one is looked at in a turn of the event loop', async () => {
    const request = bytesOf({ body: `{"query":[${'{},'.repeat(60_000)}{}]}` });
    const wires = Array.from({ length: 30 }, () => new Wire(testbed.url).send(request.subarray(0, -1)));
    onTestFinished(() => wires.forEach((wire) => wire.end('close')));
    const arriving = () => scrape(testbed.telemetry.metrics, 'trivium_memory_held_bytes{kind="arriving"}');
    await expect.poll(arriving).toBeGreaterThan(30 * (request.length - 1_000));
    for (const wire of wires) wire.send(request.subarray(-1));
    const answered = () => wires.filter(({ received }) => received.startsWith('HTTP/1.1 400')).length;
    let most = 0;
    while (answered() < wires.length) {
      const before = answered();
      await turn();
      most = Math.max(most, answered() - before);
    }
    expect(most).toBeLessThan(5);
    expect(await held()).toBe(0);
  });

  test('once it is refused, since its session cannot be looked up', async () => {
    const database = new DatabaseSync(join(testbed.folder, 'gateway.db'), { timeout: 30_000 });
    onTestFinished(() => database.close());
    database.exec('ALTER TABLE sessions RENAME TO away');
    onTestFinished(() => database.exec('ALTER TABLE away RENAME TO sessions'));
    expect(await statusOf(short, { authorization: 'Bearer unknown' })).toBe(503);
    await expect.poll(held).toBe(0);
  });
});
