import type { Procedure } from '../../src/store/procedure.js';

/** Answers, and has its thread fail at once after it. */
export const procedure: Procedure<null, null, string> = {
  module: import.meta.url,
  begin: () => async () => {
    setImmediate(() => {
      throw new Error('The thread has failed.');
    });
    return 'answered';
  },
};
