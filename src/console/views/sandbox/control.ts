import { useState } from 'react';
import { sandboxUrl } from '../../app/page-settings.js';

/** A request to the sandbox's control API, as `docs/sandbox.md` has it. */
export interface Command {
  readonly method?: 'POST' | 'DELETE';
  /** Below `/control`. */
  readonly path: string;
  readonly body?: unknown;
}

/** What has become of the last command, for the person who gave it. */
export interface Outcome {
  readonly ok: boolean;
  readonly words: string;
}

/** Gives commands to the sandbox, one at a time; `say` puts what it answered into words. */
export function useCommand() {
  const [busy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome>();

  async function give(command: Command, say: (answer: Record<string, unknown>) => string): Promise<void> {
    if (busy) return;
    setBusy(true);
    setOutcome(undefined);
    setOutcome(await obey(command, say));
    setBusy(false);
  }
  return { give, busy, outcome };
}

/** What the sandbox answers to a command that it does not obey. */
interface Refusal {
  readonly error?: { readonly message: string };
}

async function obey(
  { method = 'POST', path, body }: Command,
  say: (answer: Record<string, unknown>) => string,
): Promise<Outcome> {
  try {
    const response = await fetch(`${sandboxUrl}/control${path}`, {
      method,
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    });
    const answer = (await response.json()) as Record<string, unknown> & Refusal;
    return response.ok
      ? { ok: true, words: say(answer) }
      : { ok: false, words: answer.error?.message ?? `The sandbox answered ${response.status}.` };
  } catch {
    return { ok: false, words: 'The sandbox cannot be reached.' };
  }
}
