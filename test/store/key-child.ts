// A process of its own that prints `ready` and, after its first input, the key beside each database in its arguments.
import { once } from 'node:events';
import { keyBeside } from '../../src/store/key-file.js';

process.stdout.write('ready\n');
await once(process.stdin, 'data');
for (const path of process.argv.slice(2))
  process.stdout.write(`${keyBeside(`sqlite:${path}`).toString('base64')}\n`);
process.exit();
