#!/usr/bin/env -S node --max-semi-space-size=32 --heap-growing-percent=100
import { readFileSync } from 'node:fs';

// Text that an output cannot take is lost; without a listener, the error would end the process. That is a command's
// failure, unless its reader has seen enough.
for (const output of [process.stdout, process.stderr])
  output.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code !== 'EPIPE') process.exitCode = 1;
  });

const isSource = import.meta.url.endsWith('.ts');
const { version, engines } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
) as {
  readonly version: string;
  readonly engines: { readonly node: string };
};

/** Whether Node.js fits a range like `^20.19 || >=24`. */
function fits(running: string, range: string): boolean {
  const [major = 0, minor = 0] = running.split('.').map(Number);
  return range.split(' || ').some((part) => {
    const [least = 0, leastMinor = 0] = part.replace(/^\D+/, '').split('.').map(Number);
    if (part.startsWith('>=') && major > least) return true;
    return major === least && minor >= leastMinor;
  });
}

if (!fits(process.versions.node, engines.node)) {
  console.error(`Trivium needs Node.js ${engines.node}; this is ${process.versions.node}.`);
  process.exit(1);
}

// Only now: an older Node.js could not even load what follows.
const { addEnvFile } = await import('./config/environment.js');
try {
  addEnvFile(process.env);
} catch (error) {
  console.error(`The file .env cannot be read: ${(error as Error).message}.`);
  process.exit(1);
}
const { run } = await import('./commands/run.js');
await run(process.argv.slice(2), {
  version,
  environment: process.env,
  loadSandbox: () => import('./sandbox/sandbox.js'),
  traceSender: new URL(`./lib/telemetry/trace-sender.${isSource ? 'ts' : 'js'}`, import.meta.url),
});
