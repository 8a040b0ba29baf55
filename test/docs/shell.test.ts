import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startTestbed, type Testbed } from '../support/testbed.js';
import { exampleAddress, examplesIn } from './pages.js';

const execute = promisify(execFile);

let testbed: Testbed;

beforeAll(async () => {
  testbed = await startTestbed();
});
afterAll(() => testbed.stop());

/** The arguments of a shell that runs an example, against this gateway and sandbox; an HTTP error is one of the shell. */
function shellArguments(text: string): readonly string[] {
  const script = text
    .replaceAll(exampleAddress, new URL(testbed.url).host)
    .replaceAll('127.0.0.1:4010', new URL(testbed.sandbox.url).host);
  const strict = `curl() { command curl --fail-with-body "$@"; }\n${script}`;
  return ['-euo', 'pipefail', '-c', strict];
}

async function runShell(text: string): Promise<string> {
  const { stdout } = await execute('bash', shellArguments(text));
  return stdout;
}

/** Runs an example that goes on for ever; once it prints, a shipment moves. Returns what it has printed then. */
async function showEvent(text: string, token: string): Promise<string> {
  const shell = spawn('bash', shellArguments(text), {
    env: { ...process.env, TOKEN: token },
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(shell, 'close');
  onTestFinished(async () => {
    if (shell.exitCode === null) process.kill(-shell.pid!);
    await ended;
  });
  let shown = '';
  for await (const part of shell.stdout.setEncoding('utf8')) {
    if (shown === '') await testbed.sandbox.webhooks.emitShipment({});
    shown += part;
    if (shown.includes('event: next')) break;
  }
  return shown;
}

const cannotCurl = spawnSync('bash', ['-c', 'curl --version']).status !== 0 && process.env['CI'] !== 'true';

describe.skipIf(cannotCurl)('the commands with curl', () => {
  test('sign in and query', async () => {
    for (const { text } of examplesIn('sh', 'TOKEN='))
      expect(JSON.parse(await runShell(text))).toMatchObject({ data: { viewer: { name: 'Dana Demo' } } });
  });

  test('make the sandbox fail', async () => {
    onTestFinished(() => testbed.sandbox.faults.clear());
    const token = await testbed.signIn();
    for (const { text } of examplesIn('sh', 'faults')) await runShell(text);
    const { errors } = await testbed.ask('{ viewer { name } }', {}, token);
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'RATE_LIMITED', retryAfter: 5 });
  });

  test('have the sandbox send an event', async () => {
    for (const { text } of examplesIn('sh', 'control/events'))
      expect(JSON.parse(await runShell(text))).toMatchObject({ statuses: [200] });
  });

  test('show events as they come', async () => {
    const token = await testbed.signIn();
    for (const { text } of examplesIn('sh', 'curl -N'))
      expect(await showEvent(text, token)).toMatch(/event: next\ndata: .*"(type":"shipment\.|stage":")/);
  });

  test('are all run here', () => {
    // The package is installed and tried in test/client/package.test.ts.
    const run = /TOKEN=|faults|control\/events|client\.tgz|curl -N/;
    const others = examplesIn('sh', 'curl').filter(({ text }) => !run.test(text));
    expect(others).toEqual([]);
  });
});

test('every other command is one of npm or the package, or a test run', () => {
  const others = examplesIn('sh').filter(({ text }) => !text.includes('curl'));
  const lines = others.flatMap(({ text }) => text.trim().split('\n'));
  for (const line of lines)
    expect(line).toMatch(
      /^([A-Z_]+=\S+ )*(npm (ci|pack|install|start|test|run)|npx (vitest run|trivium \w+))\b/,
    );
});
