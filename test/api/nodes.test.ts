import { expect, test, vi } from 'vitest';
import { findEach } from '../../src/api/nodes.js';
import { isTurnShort } from '../../src/lib/async/pace.js';
import { OperationTally } from '../../src/server/operation/cost/field-tally.js';

test('only an operation that looks for many objects leaves a long turn to others', async () => {
  const find = vi.fn<() => Promise<null>>(() => Promise.resolve(null));
  const context = { tally: new OperationTally(), caller: null };
  while (isTurnShort());
  const few = findEach(['id'], find, context);
  expect(find).toHaveBeenCalledTimes(1);
  const many = findEach(Array<string>(200).fill('id'), find, context);
  expect(find).toHaveBeenCalledTimes(1);
  await Promise.all([few, many]);
  expect(find).toHaveBeenCalledTimes(201);
});
