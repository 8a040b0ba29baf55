import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createLiveDeliveries, type LiveDeliveries } from '../../../src/events/deliveries/live-deliveries.js';
import type { WebhookDelivery } from '../../../src/models/webhook.js';
import { engines } from '../../support/engines.js';
import { createGate, createMember, expectGot } from '../members.js';
import { delivery, openTestLog, restore, type TestLog } from '../test-log.js';

const nameOf = ({ eventId }: WebhookDelivery) => eventId!;

describe.each(engines)('live deliveries on %s', (_, freshUrl) => {
  let testLog: TestLog;
  let live: LiveDeliveries;

  async function append(...ids: readonly string[]): Promise<void> {
    for (const id of ids) await testLog.log.append(delivery(id));
  }

  beforeEach(async () => {
    testLog = await openTestLog(await freshUrl());
    live = createLiveDeliveries({ ...testLog, lastSeq: testLog.log.appended });
  });
  afterEach(async () => {
    live.stop();
    await testLog.stop();
  });

  test('gives who comes while those before are still served only what comes after', async () => {
    const [begun, gate] = [createGate(), createGate()];
    const first = createMember();
    const slow = async (item: WebhookDelivery) => {
      begun.open();
      await gate.opened;
      return nameOf(item);
    };
    const leave = live.broadcast.join('slow', slow, first);
    await Promise.all(['one', 'two', 'three'].map((id) => append(id)));
    await begun.opened;
    leave();
    const second = createMember();
    live.broadcast.join('quick', nameOf, second);
    gate.open();
    await append('four');
    await expectGot(second, 'four');
    expect(first.got).toEqual([]);
  });

  test('go on after the database was restored, long before the log has come to its old end', async () => {
    await Promise.all(Array.from({ length: 200 }, (__, at) => append(`lost ${at}`)));
    const [before, after] = [createMember(), createMember()];
    live.broadcast.join('before', nameOf, before);
    await restore(testLog.database, 2);
    live.broadcast.join('after', nameOf, after);
    let count = 0;
    await vi.waitFor(
      async () => {
        await append(`new ${(count += 1)}`);
        expect(before.got.length).toBeGreaterThan(0);
      },
      { interval: 250, timeout: 30_000 },
    );
    await append('last');
    for (const member of [before, after]) {
      await expect.poll(() => member.got.at(-1)).toBe('last');
      expect(new Set(member.got).size).toBe(member.got.length);
    }
  });
});
