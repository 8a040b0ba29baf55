import { setTimeout as sleep } from 'node:timers/promises';
import { postGraphql, type Posted } from '../drain/asking.js';
import type { Random } from './random.js';

/** Where to ask, as whom, and how. */
export interface Asking {
  /** Where to ask next. */
  readonly url: () => string;
  readonly random: Random;
  /** How long to wait for an answer. */
  readonly patienceMs: number;
  /** Ends the insisting; nothing does where it is not there. */
  readonly stopped?: AbortSignal;
}

/** Something that is asked for: as whom, and what answers it. */
export interface Wish<T> {
  readonly query: string;
  readonly variables?: object;
  readonly token?: string;
  /** Undefined where this answers nothing, and it is to be asked for again. */
  readonly read: (answer: Posted) => T | undefined;
  /** Hears each attempt that came to nothing. */
  readonly failed?: () => void;
}

/** Asks again, on any replica, until there is an answer; undefined where it is stopped before. */
export async function insist<T>(asking: Asking, wish: Wish<T>): Promise<T | undefined> {
  const { url, random, patienceMs, stopped = never } = asking;
  const { query, variables, token, read, failed } = wish;
  while (!stopped.aborted) {
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(patienceMs)]);
    const way = { signal, ...(token !== undefined && { token }) };
    const answer = await postGraphql(url(), query, variables, way).then(read, () => undefined);
    if (answer !== undefined) return answer;
    failed?.();
    await sleep(random.between(20, 300));
  }
  return undefined;
}

const never = new AbortController().signal;

/** The codes of an answer's errors. */
export function codesOf({ errors = [] }: Posted): readonly unknown[] {
  return errors.map((error) => (error as { extensions?: { code?: unknown } }).extensions?.code);
}
