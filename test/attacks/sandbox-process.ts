/** The process of a sandbox: prints its settings as JSON. */
import { startSandbox } from '../../src/sandbox/sandbox.js';

const { settings } = await startSandbox();
process.stdout.write(`${JSON.stringify(settings)}\n`);
