/** Begins what it is given in later rounds of the event loop, in the order of asking; it must not throw. */
export type Pace = (work: () => void) => void;

/** Begins so much in a round, so that whatever else there is to do waits for no more of it than that. */
export function createPace(aRound: number): Pace {
  const waiting: (() => void)[] = [];
  let going = false;

  function go(): void {
    for (const work of waiting.splice(0, aRound)) work();
    going = waiting.length > 0;
    if (going) setImmediate(go);
  }

  return (work) => {
    waiting.push(work);
    if (going) return;
    going = true;
    setImmediate(go);
  };
}
