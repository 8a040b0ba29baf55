import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

/**
 * Loaded into every measured process: sends its figures to the parent process on request. It watches the event loop
 * only when told to: the timer would also wake idle processes a thousand times a second, on the core of the others.
 */
const resolution = 1;
const givenBackMs = 200;
const delay = monitorEventLoopDelay({ resolution });
const toMs = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - resolution);
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

/** Collects garbage, and waits until the memory is given back, which other threads do. */
async function settle() {
  for (let times = 0; times < 3; times += 1) {
    collect();
    await sleep(givenBackMs);
  }
}

// Worker threads load this too, but measuring them would take their time.
if (isMainThread) tell();

function tell() {
  process.on('message', (request) => void answer(request));
  process.once('disconnect', () => process.exit()); // the parent process has ended
  process.channel?.unref();
}

async function answer({ ask, settled = false, watch = false }) {
  delay.disable();
  if (settled) await settle();
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, external } = process.memoryUsage();
  process.send({
    ask,
    lagP50: toMs(delay.percentile(50)),
    lagP99: toMs(delay.percentile(99)),
    lagMax: toMs(delay.max),
    rss,
    heap: heapUsed + external,
    cpuMs: (user + system) / 1000,
  });
  delay.reset();
  if (watch) delay.enable();
}
