import { setTimeout as sleep } from 'node:timers/promises';
import type { Replica } from '../chaos/replica.js';

/** What a gateway holds, as its own metrics say. */
export interface Held {
  /** In mebibytes, once garbage is collected. */
  readonly heap: number;
  readonly descriptors: number;
  readonly timers: number;
  /** In mebibytes: what the ledger of memory has charged to callers. */
  readonly charged: number;
}

const samples = 10;
const pauseMs = 2_000;

/** What all replicas hold together, the least of each of some samples, since work in progress comes and goes. */
export async function readHeld(replicas: readonly Replica[]): Promise<Held> {
  const each = await Promise.all(replicas.map(readOne));
  const sum = (name: keyof Held) => each.reduce((all, held) => all + held[name], 0);
  return {
    heap: Math.round(sum('heap')),
    descriptors: sum('descriptors'),
    timers: sum('timers'),
    charged: Math.round(sum('charged') * 10) / 10,
  };
}

async function readOne({ directUrl: url, collect }: Replica): Promise<Held> {
  const held: Held[] = [];
  for (let count = 0; count < samples; count += 1) {
    collect();
    const text = await (await fetch(`${url}/metrics`)).text();
    /** The sum, if there are several of this name. */
    const value = (name: string) =>
      [...text.matchAll(new RegExp(`^${name} (\\S+)$`, 'gm'))].reduce((sum, [, one]) => sum + Number(one), 0);
    held.push({
      heap: value('nodejs_heap_size_used_bytes') / 2 ** 20,
      descriptors: value('process_open_fds'),
      timers: value('nodejs_active_resources\\{type="Timeout"\\}'),
      charged: value('trivium_memory_held_bytes\\{kind="\\w+"\\}') / 2 ** 20,
    });
    await sleep(pauseMs);
  }
  const least = (name: keyof Held) => Math.min(...held.map((one) => one[name]));
  return {
    heap: least('heap'),
    descriptors: least('descriptors'),
    timers: least('timers'),
    charged: least('charged'),
  };
}

/** What grew by more than a quarter, and by more than a little. */
export function findGrowth(before: Held, after: Held): readonly string[] {
  const little: Held = { heap: 32, descriptors: 20, timers: 20, charged: 0.5 };
  return (Object.keys(little) as (keyof Held)[])
    .filter((name) => after[name] > before[name] * 1.25 && after[name] - before[name] > little[name])
    .map((name) => `${name} grew from ${before[name]} to ${after[name]}`);
}
