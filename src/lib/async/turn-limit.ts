/** Runs work in a later turn of the event loop, in the order of the calls; the work must not throw. */
export type Pace = (work: () => void) => void;

/** Runs at most `perTurn` pieces of work in one turn of the event loop, so that they do not hold up everything else. */
export function createPace(perTurn: number): Pace {
  const waiting: (() => void)[] = [];
  let scheduled = false;

  function run(): void {
    for (const work of waiting.splice(0, perTurn)) work();
    scheduled = waiting.length > 0;
    if (scheduled) setImmediate(run);
  }

  return (work) => {
    waiting.push(work);
    if (scheduled) return;
    scheduled = true;
    setImmediate(run);
  };
}
