/** The process that attacks, so that it keeps no probe waiting: is told the attack's name and target, and then killed. */
import { attacks, type Target } from './attacks.js';

const [name = '', target = ''] = process.argv.slice(2);
setInterval(() => undefined, 60_000); // stays when all of its connections were closed
await attacks[name]?.(JSON.parse(target) as Target, new AbortController().signal);
