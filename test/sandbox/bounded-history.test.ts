import { expect, onTestFinished, test } from 'vitest';
import { createClock } from '../../src/sandbox/clock.js';
import { createTokens } from '../../src/sandbox/tokens.js';
import { createWebhooks } from '../../src/sandbox/webhooks.js';

const limit = 100_000;

function startClock() {
  const clock = createClock();
  onTestFinished(() => clock.stop());
  return clock;
}

test('forgets the oldest of very many tokens, even if they have not expired', () => {
  const tokens = createTokens<number>(startClock(), 60_000);
  const given = Array.from({ length: limit + 1 }, (_, index) => tokens.issue(index));
  expect(given.filter((token) => tokens.find(token) !== undefined)).toEqual(given.slice(limit / 2));
  expect(tokens.issued).toHaveLength(limit / 2 + 1);
});

test('forgets the oldest of very many events', async () => {
  const poster = { post: async () => 200, reaches: async () => true, stop: () => {} };
  const receiver = () => 'http://gateway.example';
  const { control } = createWebhooks({ clock: startClock(), sender: poster, receiver });
  for (let index = 0; index <= limit; index++) await control.emitPayment({ id: `evt_${index}` });
  await expect(control.replay(`evt_${limit / 2 - 1}`, 'pe_demo')).rejects.toThrow('sent no event');
  expect((await control.replay(`evt_${limit / 2}`, 'pe_demo')).state).toBe('acknowledged');
});
