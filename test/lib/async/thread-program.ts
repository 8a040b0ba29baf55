import { threadId } from 'node:worker_threads';
import { answerRequests } from '../../../src/lib/async/thread.js';

// A thread's program for tests: waits, fails, ends, or tells which thread it is.
answerRequests(async (request: { readonly wait?: number; readonly fail?: string; readonly end?: number }) => {
  if (request.wait !== undefined) await new Promise((resolve) => setTimeout(resolve, request.wait));
  if (request.fail !== undefined) throw Object.assign(new Error(request.fail), { code: 'E_FAILED' });
  if (request.end !== undefined) process.exit(request.end);
  return { threadId, request };
});
