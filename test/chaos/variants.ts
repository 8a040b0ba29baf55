/**
 * Ways to break the log that a run must detect, and the engines on which it can: the last two do no harm with a single
 * writer. `broken/hooks.js` applies them while a gateway is loaded.
 */
export const variants = {
  'acknowledge-before-commit': ['sqlite', 'postgres'],
  'check-then-insert': ['postgres'],
  'number-before-commit': ['postgres'],
} as const;
export type Variant = keyof typeof variants;

/** The options for Node.js that apply a variant; none without a variant. */
export function optionsFor(variant: string | undefined): readonly string[] {
  if (variant === undefined) return [];
  if (!Object.hasOwn(variants, variant))
    throw new Error(`A variant is one of ${Object.keys(variants).join(', ')}.`);
  return ['--import', new URL(`broken/preload.js?${variant}`, import.meta.url).href];
}
