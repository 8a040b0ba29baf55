/**
 * The process in which users ask, so that what the others do keeps no answer waiting: is told by messages who asks, and
 * when a phase is over; answers the latter with a `Phase`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../attacks/percentile.js';
import { codesOf } from '../chaos/ask-until-answered.js';
import { createRandom, type Random } from '../chaos/random.js';
import { postGraphql } from '../drain/requests.js';

/** Somebody who reads, and writes now and then. */
export interface Asker {
  readonly name: string;
  readonly token: string;
  readonly urls: readonly string[];
}

/** How long users waited while something was going on, and what they were refused. */
export interface Phase {
  readonly name: string;
  readonly answers: number;
  /** In milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** What went wrong, with counts. */
  readonly problems: Readonly<Record<string, number>>;
}

/** What the process is told. */
export type Told = { readonly begin: Asker } | { readonly end: string };

/** What a user does, most of it often. */
const reads = [
  '{ viewer { name } notes(first: 10) { nodes { title tags { name } } pageInfo { hasNextPage } } }',
  '{ shipments(first: 20) { nodes { shipmentId stage events(first: 3) { nodes { type } } } } }',
  '{ payments(first: 20) { nodes { paymentId amount status } } }',
  '{ tags(first: 10) { nodes { name count } } }',
];
const write = 'mutation ($input: CreateNoteInput!) { createNote(input: $input) { errors { code } } }';
const writes = 0.05;
const pauseMs = [2_000, 8_000] as const;
const patienceMs = 30_000;

let times: number[] = [];
let problems: Record<string, number> = {};

async function ask({ name, token, urls }: Asker, random: Random): Promise<void> {
  const [query, variables] = random.chance(writes)
    ? [write, { input: { title: name, content: 'A few words.', tags: ['soak'] } }]
    : [random.pick(reads), {}];
  const began = performance.now();
  const signal = AbortSignal.timeout(patienceMs);
  const problem = await postGraphql(random.pick(urls), query, variables, { token, signal }).then(
    (answer) => (answer.errors ? codesOf(answer).join() : undefined),
    (error: unknown) => String(error),
  );
  times.push(problem === undefined ? performance.now() - began : Infinity);
  if (problem !== undefined) problems[problem] = (problems[problem] ?? 0) + 1;
}

async function askOnAndOn(asker: Asker): Promise<void> {
  const random = createRandom(asker.name);
  for (;;) {
    await sleep(random.between(...pauseMs));
    await ask(asker, random);
  }
}

function end(name: string): Phase {
  const phase = {
    name,
    answers: times.length,
    p50: Math.round(percentile(times, 0.5)),
    p99: Math.round(percentile(times, 0.99)),
    problems,
  };
  [times, problems] = [[], {}];
  return phase;
}

process.on('message', (told: Told) => {
  if ('begin' in told) void askOnAndOn(told.begin);
  else process.send!(end(told.end));
});
