import * as runtime from 'relay-runtime';

/** Relay's runtime, which Node.js cannot import by name, since it is no ES module. */
export const relay: typeof runtime =
  (runtime as { readonly default?: unknown } as { readonly default?: typeof runtime }).default ?? runtime;
