/** Returns a function that computes a value when it is first called, and keeps it. Throws what `compute` throws. */
export function lazy<T>(compute: () => T): () => T {
  let computed: { readonly value: T } | undefined;
  return () => (computed ??= { value: compute() }).value;
}
