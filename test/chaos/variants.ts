/**
 * Ways to break the log that a run must find, and the engines on which it can: the latter two are right by accident
 * where there is one writer, since nobody can come between. `broken/hooks.js` makes them while a gateway is loaded.
 */
export const variants = {
  'acknowledge-before-commit': ['sqlite', 'postgres'],
  'check-then-insert': ['postgres'],
  'without-the-heads-lock': ['postgres'],
} as const;
export type Variant = keyof typeof variants;

/** Options with which Node.js runs a gateway that is broken so; none for one that is whole. */
export function optionsFor(variant: string | undefined): readonly string[] {
  if (variant === undefined) return [];
  if (!Object.hasOwn(variants, variant))
    throw new Error(`A variant is one of ${Object.keys(variants).join(', ')}.`);
  return ['--import', new URL(`broken/preload.js?${variant}`, import.meta.url).href];
}
