import { createCommit, type Commit } from '../../src/events/commit.js';
import type { Delivery, Fold } from '../../src/events/log.js';
import type { Procedure } from '../../src/store/procedure.js';

/** An event of the families below: a step of its entity, or one that no fold can take. */
export interface Step {
  readonly step: number | 'impossible';
}

/** Its entity: every step so far, in log order. */
export interface Walk {
  readonly entityId: string;
  readonly steps: readonly number[];
}

/** A fold that any lost, doubled or misplaced event shows in; it keeps its states beside the shipments. */
const walkFold: Fold<{ readonly entityId: string } & Step, Walk> = {
  table: 'shipments',
  key: 'shipment_id',
  columns: { stage: 'text', updated_instant: 'text' },
  apply(before, { entityId, step }) {
    if (step === 'impossible') throw new Error('This event cannot be folded.');
    return { entityId, steps: [...(before?.steps ?? []), step] };
  },
  toRow: () => ({ stage: '', updated_instant: '' }),
};

/** Takes deliveries of both families into the log, folded so. */
export const procedure: Procedure<null, readonly Delivery[], Commit> = {
  module: import.meta.url,
  begin: (store) => createCommit(store, { shipments: walkFold, payments: walkFold }),
};
