import { expect, test } from 'vitest';
import { RecentDeliveries } from '../../../src/events/deliveries/recent-deliveries.js';
import type { WebhookDelivery } from '../../../src/models/webhook.js';

function refusal(reason: string, at: number, body = ''): WebhookDelivery {
  return {
    position: [0, at, String(at)],
    family: 'shipments',
    endpointId: 'sub',
    eventId: null,
    type: null,
    entityId: null,
    receivedAt: at,
    signedAt: null,
    outcome: 'REFUSED',
    reason,
    message: null,
    kept: { text: body, truncated: false },
  };
}

const shown = (recent: RecentDeliveries) =>
  recent.all().map(({ reason, receivedAt }) => [reason, receivedAt]);

test('keeps the newest of each kind, whatever comes of another', () => {
  const recent = new RecentDeliveries({ perKind: 3, weight: 1_000_000 });
  recent.add('genuine', refusal('SIGNATURE_TOO_OLD', 1));
  for (let at = 2; at < 10_000; at++) recent.add('forged', refusal('SIGNATURE_WRONG', at));
  expect(shown(recent)).toEqual([
    ['SIGNATURE_TOO_OLD', 1],
    ['SIGNATURE_WRONG', 9_997],
    ['SIGNATURE_WRONG', 9_998],
    ['SIGNATURE_WRONG', 9_999],
  ]);
});

test('holds a bounded number of characters, and drops first from the kind that takes up most', () => {
  const recent = new RecentDeliveries({ perKind: 1_000, weight: 100_000 });
  recent.add('small', refusal('SIGNATURE_TOO_OLD', 1, 'short'));
  for (let at = 2; at < 500; at++) recent.add('large', refusal('SIGNATURE_WRONG', at, 'x'.repeat(9_500)));
  const kept = recent.all();
  expect(kept[0]).toMatchObject({ reason: 'SIGNATURE_TOO_OLD' });
  expect(kept.at(-1)).toMatchObject({ receivedAt: 499 });
  expect(kept.reduce((sum, { kept: body }) => sum + body!.text!.length, 0)).toBeLessThanOrEqual(100_000);
  expect(kept.length).toBeGreaterThan(8);
});
