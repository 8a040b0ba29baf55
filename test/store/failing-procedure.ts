import type { Procedure } from '../../src/store/sql/writer-procedure.js';

/** Answers, then makes its thread fail. */
export const procedure: Procedure<null, null, string> = {
  name: 'fail',
  begin: () => async () => {
    setImmediate(() => {
      throw new Error('The thread has failed.');
    });
    return 'answered';
  },
};
