import { setTimeout as sleep } from 'node:timers/promises';
import { postGraphql, type Posted } from '../drain/requests.js';
import type { Random } from './random.js';

/** How to ask until there is an answer. */
export interface AskingOptions {
  /** The gateway to ask next. */
  readonly url: () => string;
  readonly random: Random;
  /** How long to wait for an answer. */
  readonly patienceMs: number;
  /** Stops asking; if absent, nothing does. */
  readonly stopped?: AbortSignal;
}

/** A request, and how to read its answer. */
export interface Question<T> {
  readonly query: string;
  readonly variables?: object;
  readonly token?: string;
  /** Returns undefined if this is no answer, and the request must be repeated. */
  readonly read: (answer: Posted) => T | undefined;
  /** Called after each attempt without an answer. */
  readonly onFailure?: () => void;
}

/** Asks again, on any replica, until there is an answer; undefined if it is stopped before. */
export async function askUntilAnswered<T>(
  options: AskingOptions,
  question: Question<T>,
): Promise<T | undefined> {
  const { url, random, patienceMs, stopped = never } = options;
  const { query, variables, token, read, onFailure } = question;
  while (!stopped.aborted) {
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(patienceMs)]);
    const request = { signal, ...(token !== undefined && { token }) };
    const answer = await postGraphql(url(), query, variables, request).then(read, () => undefined);
    if (answer !== undefined) return answer;
    onFailure?.();
    await sleep(random.between(20, 300));
  }
  return undefined;
}

const never = new AbortController().signal;

/** The codes of an answer's errors. */
export function codesOf({ errors = [] }: Posted): readonly unknown[] {
  return errors.map((error) => (error as { extensions?: { code?: unknown } }).extensions?.code);
}
