import type { Context } from '../../../api/context.js';
import { maxCost } from './document-limits.js';

/** A request that has this header, with any value, is told what its operation costs. */
export const costHeader = 'graphql-cost';

/** The `extensions` of an answer. */
interface CostReport {
  readonly cost: {
    /** As many as the operation asks for, as counted for the limit. */
    readonly fields: number;
    /** As many as it may ask for. */
    readonly limit: number;
  };
}

/** What the answer tells of the operation's cost: nothing unless the header (`asked`) is there, or if it is not known. */
export function costReport(asked: unknown, { cost }: Pick<Context, 'cost'>): CostReport | undefined {
  if (asked === undefined || cost === undefined) return undefined;
  return { cost: { fields: cost, limit: maxCost } };
}
