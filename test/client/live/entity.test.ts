import { expect, onTestFinished, test, vi } from 'vitest';
import { TriviumError } from '../../../src/client/core/error.js';
import type { Sink, Trivium } from '../../../src/client/core/trivium.js';
import { createLiveEntity } from '../../../src/client/live/entity.js';

test('a shipment of a restored log is shown as that has it, or not at all', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const sinks: Sink[] = [];
  const execute = vi.fn<Trivium['execute']>();
  const trivium = {
    execute,
    subscribe(_: unknown, __: unknown, sink: Sink) {
      sinks.push(sink);
      return () => {};
    },
  } as unknown as Trivium;
  const live = createLiveEntity(trivium, 'shipments', 'shp_1');
  const shown = async (shipment: object | null) => {
    execute.mockResolvedValueOnce({ data: { liveCursor: 'here', shipment } });
    sinks.at(-1)?.error(new TriviumError('CURSOR_EXPIRED', 'The database was restored.'));
    await vi.advanceTimersByTimeAsync(60_000);
    return live.state.entity;
  };
  const states = [{ id: 'shp_1', revision: 200 }, { id: 'shp_1', revision: 90 }, null];
  const first = shown(states[0]!);
  onTestFinished(live.listen(() => {}));
  expect(await first).toEqual(states[0]);
  for (const state of states.slice(1)) expect(await shown(state)).toEqual(state);
});
