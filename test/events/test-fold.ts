import { createCommit, type Commit } from '../../src/events/log/commit.js';
import type { Delivery } from '../../src/events/webhooks/delivery.js';
import type { Fold } from '../../src/events/log/fold.js';
import type { Procedure } from '../../src/store/sql/writer-procedure.js';

/** An event of the families below: a step of its entity; the fold throws if it is impossible. */
export interface Step {
  readonly step: number | 'impossible';
}

/** Its entity: every step so far, in log order. */
export interface TestEntity {
  readonly entityId: string;
  readonly steps: readonly number[];
}

/** A fold whose state shows any lost, repeated or misplaced event; it is stored in the table of shipments. */
const testFold: Fold<{ readonly entityId: string } & Step, TestEntity> = {
  table: 'shipments',
  key: 'shipment_id',
  columns: { stage: 'text', updated_instant: 'text' },
  apply(before, { entityId, step }) {
    if (step === 'impossible') throw new Error('This event cannot be folded.');
    return { entityId, steps: [...(before?.steps ?? []), step] };
  },
  toRow: () => ({ stage: '', updated_instant: '' }),
};

/** Commits deliveries of both families to the log with this fold. */
export const procedure: Procedure<null, readonly Delivery[], Commit> = {
  name: 'record test deliveries',
  begin: (store) => createCommit(store, { shipments: testFold, payments: testFold }),
};
