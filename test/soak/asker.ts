/**
 * The process in which users ask, so that what the others do keeps no answer waiting: is told by messages who asks, and
 * when a phase is over; answers the latter with a `Phase`.
 */
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../attacks/percentile.js';
import { codesOf } from '../chaos/ask-until-answered.js';
import { createRandom, type Random } from '../chaos/random.js';
import { postGraphql } from '../drain/requests.js';

/** Somebody who reads, and writes now and then. */
export interface Asker {
  readonly name: string;
  readonly token: string;
  /** A loopback address of their own, as attackers are seldom in the network of an ordinary user. */
  readonly address: string;
  readonly urls: readonly string[];
}

/** How long answers took, in milliseconds. */
export interface Waits {
  readonly answers: number;
  readonly p50: number;
  readonly p99: number;
}

/** How long users waited while something was going on, and what they were refused. */
export interface Phase extends Waits {
  readonly name: string;
  /** The first answers to a page that was opened anew, so on a new connection: apart from the others. */
  readonly opened: Waits;
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
/** A browser keeps its connections until a page is opened anew. */
const pagesOpened = 0.05;
const pauseMs = [2_000, 8_000] as const;
const patienceMs = 30_000;

let times: number[] = [];
let openedTimes: number[] = [];
let problems: Record<string, number> = {};

/** A page that somebody has open. */
interface OpenPage {
  readonly url: string;
  readonly agent: Agent;
}

/** Returns how long the answer took, in milliseconds; Infinity for a failure. */
async function ask({ name, token }: Asker, page: OpenPage, random: Random): Promise<number> {
  const [query, variables] = random.chance(writes)
    ? [write, { input: { title: name, content: 'A few words.', tags: ['soak'] } }]
    : [random.pick(reads), {}];
  const began = performance.now();
  const signal = AbortSignal.timeout(patienceMs);
  const problem = await postGraphql(page.url, query, variables, { token, agent: page.agent, signal }).then(
    (answer) => (answer.errors ? codesOf(answer).join() : undefined),
    (error: unknown) => String(error),
  );
  if (problem === undefined) return performance.now() - began;
  problems[problem] = (problems[problem] ?? 0) + 1;
  return Infinity;
}

async function askOnAndOn(asker: Asker): Promise<void> {
  const random = createRandom(asker.name);
  let page: OpenPage | undefined;
  for (;;) {
    await sleep(random.between(...pauseMs));
    if (page && !random.chance(pagesOpened)) times.push(await ask(asker, page, random));
    else {
      page?.agent.destroy();
      const agent = new Agent({ keepAlive: true, localAddress: asker.address });
      page = { url: random.pick(asker.urls), agent };
      openedTimes.push(await ask(asker, page, random));
    }
  }
}

function waits(ms: readonly number[]): Waits {
  const [p50 = 0, p99 = 0] = [0.5, 0.99].map((part) => Math.round(percentile(ms, part)));
  return { answers: ms.length, p50, p99 };
}

function end(name: string): Phase {
  const phase = { name, ...waits(times), opened: waits(openedTimes), problems };
  [times, openedTimes, problems] = [[], [], {}];
  return phase;
}

process.on('message', (told: Told) => {
  if ('begin' in told) void askOnAndOn(told.begin);
  else process.send!(end(told.end));
});
