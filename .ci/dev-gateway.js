/** The gateway of `npm run dev`: as `npm start`, beside a sandbox that runs in the process of `.ci/dev.js`. */
import { readFileSync } from 'node:fs';
import { run } from '../src/commands/run.ts';
import { addEnvFile } from '../src/config/environment.ts';

addEnvFile(process.env);
const { TRIVIUM_DEV_SANDBOX: started, ...environment } = process.env;
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

async function startSandbox() {
  const sandbox = JSON.parse(started);
  return {
    ...sandbox,
    deliverTo(url) {
      const body = JSON.stringify({ url });
      const headers = { 'content-type': 'application/json' };
      void fetch(`${sandbox.url}/control/receiver`, { method: 'POST', headers, body });
    },
    stop: async () => undefined,
  };
}

await run(['start'], {
  version,
  environment,
  loadSandbox: async () => ({ startSandbox }),
  traceSender: new URL('../src/lib/telemetry/trace-sender.ts', import.meta.url),
});
