/** What `act` returns, or undefined if it throws: a browser may forbid what it has. */
export function attempt<Value>(act: () => Value): Value | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
