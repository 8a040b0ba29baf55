/** What `act` returns, or undefined if it throws: a browser may forbid what it has. */
export function attempt<Value>(act: () => Value): Value | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

/** Calls back the application: what it throws is an uncaught error of its own, and disturbs nobody else. */
export function callBack(act: () => void): void {
  try {
    act();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
