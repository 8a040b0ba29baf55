import { answerRequests } from '../lib/async/thread.js';
import { readLongBody } from './webhook-families.js';

// The program of the thread that reads long bodies of webhooks; `gateway.ts` has its address.
answerRequests(readLongBody);
