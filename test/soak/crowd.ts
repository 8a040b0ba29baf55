import { fork } from 'node:child_process';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { attack } from '../attacks/start-attacker.js';
import type { Cluster } from '../chaos/cluster.js';
import type { Random } from '../chaos/random.js';
import type { Company } from '../chaos/run.js';
import { openSession } from '../chaos/visitors.js';
import type { Phase, Told } from './asker.js';
import { readHeld, type Held } from './held.js';
import { startUser, type User } from './user.js';

export interface CrowdOptions {
  readonly users: number;
  /** How long the whole lasts; a tenth of it, at the beginning and at the end, is quiet. */
  readonly ms: number;
  /** The attacks to choose from, by their names. */
  readonly attacks: readonly string[];
  readonly say: (text: string) => void;
}

/** Ordinary users, with attackers beside them most of the time. */
export interface Crowd extends Company {
  readonly phases: readonly Phase[];
  readonly before: Held | undefined;
  readonly after: Held | undefined;
}

const attackMs = 15_000;
const restMs = [1_000, 10_000] as const;
const attacker = { email: 'attacker@example.com', password: 'attacker' };

/** Starts the users one after another, then the attacks. */
export async function startCrowd(cluster: Cluster, random: Random, options: CrowdOptions): Promise<Crowd> {
  const { sandbox, replicas } = cluster;
  const phases: Phase[] = [];
  const stopping = new AbortController();
  const asking = fork('test/soak/asker.ts', {
    execArgv: ['--import', 'tsx'],
    serialization: 'advanced', // JSON has no Infinity, which a failed answer takes
  });
  const tell = (told: Told) => asking.send(told);
  const late = monitorEventLoopDelay({ resolution: 10 });
  late.enable();
  const urls = replicas.map(({ directUrl }) => directUrl);
  let held: { before?: Held; after?: Held } = {};

  const users: User[] = [];
  for (let number = 1; number <= options.users; number += 1) {
    const own = random.fork(`user ${number}`);
    const email = `user-${number}@example.com`;
    sandbox.notes.addUser({ email, password: email, name: `User ${number}` });
    sandbox.notes.insert(email, { tags: ['soak'] });
    const user = await startUser({
      name: `user ${number}`,
      email,
      password: email,
      url: () => cluster.any(own),
      random: own,
    });
    users.push(user);
    const address = `127.1.${number >> 8}.${number % 256}`;
    tell({ begin: { name: user.name, token: user.token, address, urls } });
  }
  sandbox.notes.addUser({ ...attacker, name: 'Ada Attacker' });

  /** Ends a phase; what was asked since the one before is of this one. */
  async function end(name: string, isCounted = true): Promise<void> {
    tell({ end: name });
    const [phase] = (await once(asking, 'message')) as [Phase];
    const lateMs = Math.round(late.percentile(99) / 1e6);
    late.reset();
    if (!isCounted) return;
    phases.push(phase);
    options.say(`${describe(phase)}; the services were late by ${lateMs} ms at the 99th percentile`);
  }

  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined);

  async function attackOnce(name: string): Promise<void> {
    const { directUrl: url } = random.pick(replicas);
    const session = await openSession({ url: () => url, random, patienceMs: 30_000, person: attacker });
    const { id, secret } = cluster.endpoint.now();
    const target = {
      url,
      port: Number(new URL(url).port),
      token: session?.token ?? '',
      payments: `${id}=${secret}`,
    };
    const over = new AbortController();
    const stop = () => over.abort();
    stopping.signal.addEventListener('abort', stop, { once: true });
    const timer = setTimeout(stop, attackMs);
    // An attacker may be cut off, as whoever has used up a share is.
    await attack(name, target, over.signal).catch((error: unknown) => options.say(String(error)));
    clearTimeout(timer);
    stopping.signal.removeEventListener('abort', stop);
  }

  async function run(): Promise<void> {
    const until = performance.now() + options.ms * 0.9;
    await pause(options.ms / 10);
    await end('quiet, before');
    held = { before: await readHeld(replicas) };
    let left: string[] = [];
    while (performance.now() < until && !stopping.signal.aborted) {
      // Each once before any is repeated.
      if (left.length === 0) left = [...options.attacks];
      const [name = ''] = left.splice(random.whole(0, left.length - 1), 1);
      options.say(`attack: ${name}`);
      await end('a rest', false);
      await attackOnce(name);
      await end(name);
      await pause(random.between(...restMs));
    }
    await end('a rest', false);
    await pause(options.ms / 10);
    await end('quiet, after');
    held = { ...held, after: await readHeld(replicas) };
  }

  return {
    phases,
    get before() {
      return held.before;
    },
    get after() {
      return held.after;
    },
    subscribers: users.map(({ subscriber }) => subscriber),
    done: run(),
    async stop() {
      stopping.abort();
      asking.kill('SIGKILL');
      await Promise.all(users.map(({ subscriber }) => subscriber.stop()));
    },
  };
}

/** A phase in one line. */
function describe({ name, answers, p50, p99, opened, problems }: Phase): string {
  const told = Object.entries(problems)
    .map(([what, count]) => `${what} (${count})`)
    .join(', ');
  const anew = `${opened.answers} on a new connection, p50 ${opened.p50} ms, p99 ${opened.p99} ms`;
  return `${name}: ${answers} answers, p50 ${p50} ms, p99 ${p99} ms; ${anew}${told && `; ${told}`}`;
}
