/** The process that attacks, so that it keeps no probe waiting: is told the attack's name and target, and then killed. */
import { setMaxListeners } from 'node:events';
import { attacks, type Target } from './attacks.js';

const [name = '', target = ''] = process.argv.slice(2);
setInterval(() => undefined, 60_000); // stays when all of its connections were closed
const { signal } = new AbortController();
setMaxListeners(0, signal); // one for each connection
await attacks[name]!(JSON.parse(target) as Target, signal);
