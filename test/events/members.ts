import { expect } from 'vitest';
import type { Member, Rendering } from '../../src/events/feed/member.js';
import type { LogEntry } from '../../src/events/log/log.js';

/** An entry's number, with a star if it was replayed. */
export const text = ({ seq }: LogEntry, replayed: boolean) => `${seq}${replayed ? '*' : ''}`;

/** A rendering of shipments that records what it rendered, as `text` writes it. */
export function createRendering(
  render: Rendering['render'] = text,
): Rendering & { readonly rendered: readonly string[] } {
  const rendered: string[] = [];
  return {
    rendered,
    family: 'shipments',
    selected: [],
    render(entry: LogEntry, replayed: boolean) {
      rendered.push(text(entry, replayed));
      return render(entry, replayed);
    },
  };
}

/** A member that records what it gets; `changes` can make it slow, or make it accept no more. */
export function createMember(after?: number, changes: Partial<Member> = {}) {
  const got: string[] = [];
  let end: (error: unknown) => void;
  const ended = new Promise<unknown>((resolve) => (end = resolve));
  const member: Member = {
    after,
    ...(changes.untilRoom && { untilRoom: changes.untilRoom }),
    async replay(payloads, places) {
      got.push(...payloads);
      return changes.replay?.(payloads, places) ?? true;
    },
    deliver(payloads, places) {
      got.push(...payloads);
      return changes.deliver?.(payloads, places) ?? true;
    },
    end: (error) => end(error),
  };
  return { ...member, got, ended };
}

/** Waits until the member has got these payloads. */
export async function expectGot(
  { got }: { readonly got: readonly string[] },
  expected: string,
): Promise<void> {
  await expect.poll(() => got.join(' '), { timeout: 5_000 }).toBe(expected);
}

/** A gate: `opened` resolves once `open` is called. */
export function createGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}
