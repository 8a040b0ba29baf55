import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startTestbed } from '../support/testbed.js';

const connections = 1_500;

/** How many connections Linux lets wait for a process at most. */
function allowedBySystem(): number {
  try {
    return Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'));
  } catch {
    return 0;
  }
}

/** Connects, and writes how many connections there are, once there are all or it has waited for half a second. */
const connectAll = `
  const [port, count] = process.argv.slice(1).map(Number);
  let open = 0;
  const tell = () => { console.log(open); process.exit(); };
  for (let at = 0; at < count; at += 1)
    require('node:net').connect(port, '127.0.0.1', () => { open += 1; if (open === count) tell(); }).on('error', () => {});
  setTimeout(tell, 500);
`;

test.skipIf(allowedBySystem() < connections)(
  'while the gateway is busy, many connections wait to be accepted, and none has to be tried again',
  async () => {
    const testbed = await startTestbed();
    try {
      const { port } = new URL(testbed.url);
      // This process, and so the gateway, does nothing else meanwhile.
      const { stdout } = spawnSync(process.execPath, ['-e', connectAll, port, String(connections)]);
      expect(Number(stdout)).toBe(connections);
    } finally {
      await testbed.stop();
    }
  },
);
