import { maxCost } from './document-limits.js';

/**
 * A request that has this header, with any value, is told what its operation costs; a websocket by that of its upgrade
 * request, or by a member of this name in its `connection_init`, what each of its operations costs.
 */
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

/** What was found of an operation: its cost in fields, where that is known. */
interface Assessed {
  readonly cost?: number | undefined;
}

/** What the answer tells of the operation's cost: nothing unless the header (`asked`) is there, or if it is not known. */
export function costReport(
  asked: string | readonly string[] | true | undefined,
  { cost }: Assessed,
): CostReport | undefined {
  if (asked === undefined || cost === undefined) return undefined;
  return { cost: { fields: cost, limit: maxCost } };
}
