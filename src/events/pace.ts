import { setImmediate as turn } from 'node:timers/promises';

/** Waits for the event loop to come round; of all who wait, a few go on in each round, in order. */
export type Pace = () => Promise<void>;

/** Lets so many go on in a round, so that whatever else there is to do waits for no more of them than that. */
export function createPace(aRound: number): Pace {
  let waiting: (() => void)[] = [];
  let going = false;

  async function go(): Promise<void> {
    going = true;
    while (waiting.length > 0) {
      await turn();
      const those = waiting.slice(0, aRound);
      waiting = waiting.slice(aRound);
      for (const goOn of those) goOn();
    }
    going = false;
  }

  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (!going) void go();
    });
}
