import { setTimeout as sleep } from 'node:timers/promises';
import { attacks } from '../attacks/attacks.js';
import { percentile } from '../attacks/percentile.js';
import { attack } from '../attacks/start-attacker.js';
import type { Cluster } from '../chaos/cluster.js';
import type { Random } from '../chaos/random.js';
import type { Company } from '../chaos/run.js';
import { openSession } from '../chaos/visitors.js';
import { readHeld, type Held } from './held.js';
import { startUser, type User } from './user.js';

export interface CrowdOptions {
  readonly users: number;
  /** How long the whole lasts; a tenth of it, at the beginning and at the end, is quiet. */
  readonly ms: number;
  readonly say: (text: string) => void;
}

/** How long users waited while something was going on, and what they were refused. */
export interface Phase {
  readonly name: string;
  readonly answers: number;
  /** In milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** What went wrong, with counts. */
  readonly problems: ReadonlyMap<string, number>;
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
  let times: number[] = [];
  let problems = new Map<string, number>();
  let held: { before?: Held; after?: Held } = {};

  const users: User[] = [];
  for (let number = 1; number <= options.users; number += 1) {
    const own = random.fork(`user ${number}`);
    const email = `user-${number}@example.com`;
    sandbox.notes.addUser({ email, password: email, name: `User ${number}` });
    sandbox.notes.insert(email, { tags: ['soak'] });
    users.push(
      await startUser({
        name: `user ${number}`,
        email,
        password: email,
        url: () => cluster.any(own),
        random: own,
        onAnswer(ms, problem) {
          times.push(ms);
          if (problem !== undefined) problems.set(problem, (problems.get(problem) ?? 0) + 1);
        },
      }),
    );
  }
  sandbox.notes.addUser({ ...attacker, name: 'Ada Attacker' });

  function end(name: string): void {
    const phase = {
      name,
      answers: times.length,
      p50: Math.round(percentile(times, 0.5)),
      p99: Math.round(percentile(times, 0.99)),
      problems,
    };
    [times, problems] = [[], new Map()];
    phases.push(phase);
    options.say(describe(phase));
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
    await attack(name, target, over.signal);
    clearTimeout(timer);
    stopping.signal.removeEventListener('abort', stop);
  }

  async function run(): Promise<void> {
    const until = performance.now() + options.ms * 0.9;
    await pause(options.ms / 10);
    end('quiet, before');
    held = { before: await readHeld(replicas) };
    [times, problems] = [[], new Map()];
    let left: string[] = [];
    while (performance.now() < until && !stopping.signal.aborted) {
      // Each once before any is repeated.
      if (left.length === 0) left = Object.keys(attacks);
      const [name = ''] = left.splice(random.whole(0, left.length - 1), 1);
      options.say(`attack: ${name}`);
      await attackOnce(name);
      end(name);
      await pause(random.between(...restMs));
      [times, problems] = [[], new Map()];
    }
    await pause(options.ms / 10);
    end('quiet, after');
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
      await Promise.all(users.map((user) => user.stop()));
    },
  };
}

/** A phase in one line. */
function describe({ name, answers, p50, p99, problems }: Phase): string {
  const told = [...problems].map(([what, count]) => `${what} (${count})`).join(', ');
  return `${name}: ${answers} answers, p50 ${p50} ms, p99 ${p99} ms${told && `; ${told}`}`;
}
