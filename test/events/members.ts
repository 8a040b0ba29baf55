import { expect } from 'vitest';
import type { Feed } from '../../src/events/feed/feed.js';
import type { Member, Outlet, Payload, Rendering, View } from '../../src/events/feed/member.js';
import type { LogEntry } from '../../src/events/log/log.js';
import type { Signal } from '../../src/lib/async/abort.js';

/** An entry's number, with a star if it was replayed. */
export const text = ({ seq }: LogEntry, replayed: boolean) => `${seq}${replayed ? '*' : ''}`;

/** A rendering of shipments that records what it rendered, as `text` writes it. */
export function createRendering(
  render: View<Payload | Promise<Payload>> = text,
): Rendering & { readonly rendered: readonly string[] } {
  const rendered: string[] = [];
  return {
    rendered,
    family: 'shipments',
    selected: [],
    view(entry, replayed) {
      rendered.push(text(entry, replayed));
      return render(entry, replayed);
    },
    run: (shown) => shown as ReturnType<typeof render>,
  };
}

/** What a member's client does: called with what it gets, it may be slow, or take no more. */
export interface Client extends Partial<Pick<Outlet, 'untilRoom' | 'hasRoom'>> {
  /** Whether it takes these past payloads. */
  readonly replay?: (payloads: readonly string[]) => Promise<boolean>;
  readonly deliver?: (payloads: readonly string[]) => void;
}

/** A member that records what it gets. */
export function createMember(after?: number, { replay, deliver, ...changes }: Client = {}) {
  const got: string[] = [];
  let end: (error: unknown) => void;
  const ended = new Promise<unknown>((resolve) => (end = resolve));
  const outlet: Outlet = {
    hasRoom: () => true,
    ...changes,
    send(payloads, _, done) {
      got.push(...payloads);
      const answer = (taken: boolean) => done?.(taken ? null : new Error('It takes no more.'));
      if (!done) deliver?.(payloads);
      else if (replay) void replay(payloads).then(answer);
      else answer(true);
    },
    resumeElsewhere: () => undefined,
  };
  const member: Member = { after, outlet, end: (error) => end(error) };
  return { ...member, got, ended };
}

/** Waits until the member has got these payloads. */
export async function expectGot(
  { got }: { readonly got: readonly string[] },
  expected: string,
): Promise<void> {
  await expect.poll(() => got.join(' ')).toBe(expected);
}

/** The number in the log after which a subscription with this cursor begins. */
export async function seqOf(feed: Feed, cursor: string, signal?: Signal): Promise<number | undefined> {
  const { after } = await feed.follow({ family: 'shipments', selected: [] }, text, cursor, signal);
  return after;
}

/** A gate: `opened` resolves once `open` is called. */
export function createGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}
