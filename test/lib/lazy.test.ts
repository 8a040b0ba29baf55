import { expect, test, vi } from 'vitest';
import { lazy } from '../../src/lib/lazy.js';

test('a lazy value is computed once, when it is first asked for', () => {
  const compute = vi.fn<() => string | undefined>(() => undefined);
  const value = lazy(compute);
  expect(compute).not.toHaveBeenCalled();

  expect([value(), value()]).toEqual([undefined, undefined]);
  expect(compute).toHaveBeenCalledTimes(1);
});
