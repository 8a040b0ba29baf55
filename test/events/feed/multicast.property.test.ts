import { setTimeout as sleep } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFeed, type Feed } from '../../../src/events/feed/feed.js';
import type { Payload, Rendering } from '../../../src/events/feed/member.js';
import type { Selection } from '../../../src/events/feed/selection.js';
import type { Log, LogEntry } from '../../../src/events/log/log.js';
import { createCursors } from '../../../src/graphql/cursors.js';
import { createSealer } from '../../../src/lib/sealer.js';
import { engines } from '../../support/engines.js';
import { seqOf } from '../members.js';
import { delivery, openTestLog } from '../test-log.js';

const cursors = createCursors(createSealer([randomBytes(32)]));
const families = ['shipments', 'payments'] as const;
const memberCount = 10;
const numRuns = Number(process.env['RUNS'] ?? 40);
const lastEntity = 'entity 5';

type Command =
  | { readonly kind: 'append'; readonly ids: readonly number[]; readonly wait: boolean }
  | { readonly kind: 'join'; readonly member: number; readonly exact: boolean; readonly slow: number }
  | { readonly kind: 'leave'; readonly member: number }
  | { readonly kind: 'refuse'; readonly member: number }
  | { readonly kind: 'pause'; readonly ms: number };

const someMember = fc.nat(memberCount - 1);
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({
    kind: fc.constant('append' as const),
    ids: fc.array(fc.nat(2_000), { maxLength: 20, size: 'max' }),
    wait: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('join' as const),
    member: someMember,
    exact: fc.boolean(),
    slow: fc.nat(2),
  }),
  fc.record({ kind: fc.constant('leave' as const), member: someMember }),
  fc.record({ kind: fc.constant('refuse' as const), member: someMember }),
  fc.record({ kind: fc.constant('pause' as const), ms: fc.nat(5) }),
);

const entityOf = ({ entityId }: LogEntry) => entityId;
const selectedEntities = new Set(['entity 0', 'entity 3', lastEntity]);

/**
 * A group of one family, or of a selection of it; the payload is the entry's number. If `isAsync`, every third payload
 * is rendered asynchronously.
 */
function createGroup(family: (typeof families)[number], isAsync: boolean, selection?: Selection) {
  /** How often each live event was rendered. */
  const rendered = new Map<number, number>();
  const wants = (entry: LogEntry) =>
    entry.family === family &&
    entry.event !== null &&
    (!selection || selection.values.has(selection.keyOf(entry)));
  const rendering: Rendering = {
    family,
    selected: selection ? [selection] : [],
    view(entry, replayed) {
      const { seq } = entry;
      if (!replayed) rendered.set(seq, (rendered.get(seq) ?? 0) + 1);
      if (!wants(entry)) return undefined;
      return isAsync && seq % 3 === 0 ? sleep(1, String(seq)) : String(seq);
    },
    run: (shown) => shown as Payload | Promise<Payload>,
  };
  return { family, wants, rendered, rendering, key: `${family} ${isAsync} ${selection !== undefined}` };
}

type Group = ReturnType<typeof createGroup>;

/** A member that joins, leaves, is dropped when it accepts no more, and resumes after the last payload that it got. */
function createMember(log: Log, feed: Feed, { key, rendering, family, wants }: Group) {
  const got: number[] = [];
  let leave: (() => void) | undefined;
  let refusing = false;
  let failure: unknown;
  /** Where the log ended when it first joined: the least and the greatest number possible. */
  let began: readonly [number, number] | undefined;

  function take(payload: string): boolean {
    if (refusing) return false; // not received, so it must be sent again
    got.push(Number(payload));
    return true;
  }

  /** Where to resume; undefined if it got nothing and does not know exactly where it began. */
  function resumable(): number | undefined {
    return got.at(-1) ?? (began && began[0] === began[1] ? began[0] : undefined);
  }

  async function cursorAt(seq: number): Promise<string> {
    return feed.cursor((await log.position(seq)) ?? { seq, witness: '' });
  }

  async function join(exact: boolean, slow: number): Promise<void> {
    if (leave) return;
    const last = resumable();
    const seq = last ?? (exact ? (await log.bounds()).head : undefined);
    const after = seq === undefined ? undefined : await seqOf(feed, await cursorAt(seq));
    refusing = false;
    if (last === undefined) began = [after ?? feed.position().seq, after ?? (await log.bounds()).head];
    let isHere = true;
    const unsubscribe = feed.multicast.join(key, rendering, {
      after,
      outlet: {
        send(payloads, _, done) {
          if (!done) return isHere ? payloads.forEach(take) : expect.fail('It has left.');
          const answer = () => done(isHere && payloads.every(take) ? null : new Error('It takes no more.'));
          if (slow > 0) void sleep(slow).then(answer);
          else answer();
        },
        hasRoom: () => !refusing,
        resumeElsewhere: () => undefined,
      },
      end: (error) => (failure ??= error ?? new Error('It ended.')),
    });
    if (last === undefined && after === undefined) began = [began![0], (await log.bounds()).head];
    leave = () => {
      isHere = false;
      unsubscribe();
    };
  }

  return {
    family,
    wants,
    got,
    join,
    leave() {
      leave?.();
      leave = undefined;
    },
    refuse: () => (refusing = true),
    began: () => began,
    failure: () => failure,
    /** Resumes where it left, and takes everything up to the last event of its family. */
    async finish(last: number): Promise<void> {
      this.leave();
      if (resumable() === undefined) began = undefined;
      if (!began) return;
      await join(true, 0);
      await expect.poll(() => (got.at(-1) ?? 0) >= last, { interval: 2 }).toBe(true);
      this.leave();
    },
  };
}

type Member = ReturnType<typeof createMember>;

/** Runs the commands, then lets every member catch up; `name` makes its event ids unique. */
async function run(log: Log, feed: Feed, commands: readonly Command[], name: string) {
  const groups = [
    createGroup('shipments', false),
    createGroup('payments', false),
    createGroup('shipments', true),
    createGroup('shipments', false, { keyOf: entityOf, values: selectedEntities }),
    createGroup('payments', true, { keyOf: entityOf, values: selectedEntities }),
  ];
  const groupOf = (member: number) => groups[member % groups.length]!;
  const members = Array.from({ length: memberCount }, (_, at) => createMember(log, feed, groupOf(at)));
  const append = (id: number) => {
    const changes = { family: families[id % 2]!, ...(id % 7 === 0 ? { known: null } : {}) };
    return log.append(delivery(`${name} ${id}`, { entityId: `entity ${id % 5}` }, changes));
  };
  const appends: Promise<unknown>[] = [];
  for (const step of commands) {
    if (step.kind === 'append') {
      appends.push(...step.ids.map(append));
      if (step.wait) await Promise.all(appends);
    } else if (step.kind === 'join') await members[step.member]!.join(step.exact, step.slow);
    else if (step.kind === 'leave') members[step.member]!.leave();
    else if (step.kind === 'refuse') members[step.member]!.refuse();
    else await sleep(step.ms);
  }
  await Promise.all(appends);
  const lasts = new Map<string, number>();
  for (const family of families) {
    await log.append(delivery(`${name} last`, { entityId: lastEntity }, { family }));
    lasts.set(family, (await log.bounds()).head);
  }
  await Promise.all(members.map((member) => member.finish(lasts.get(member.family)!)));
  return { groups, members };
}

function check({ wants, got, began, failure }: Member, entries: readonly LogEntry[]): void {
  expect(failure()).toBeUndefined();
  const [least, most] = began() ?? [Infinity, Infinity];
  const since = Math.min(most, (got[0] ?? Infinity) - 1);
  const expected = entries.filter((entry) => wants(entry) && entry.seq > since);
  expect(since).toBeGreaterThanOrEqual(least);
  expect(got).toEqual(expected.map(({ seq }) => seq));
}

describe.each(engines)('the multicast on %s', (engine, freshUrl) => {
  test(
    'gives every member each event since it began exactly once, in log order, whoever joins and leaves',
    { timeout: 300_000 },
    async () => {
      const testLog = await openTestLog(await freshUrl());
      let runs = 0;
      let payloads = 0;
      const property = fc.asyncProperty(
        fc.array(command, { maxLength: 60, size: 'max' }),
        fc.integer({ min: 1, max: 30 }),
        async (commands, recent) => {
          runs += 1;
          const start = (await testLog.log.bounds()).head;
          const feed = await createFeed({ ...testLog, cursors, recent });
          try {
            const { groups, members } = await run(testLog.log, feed, commands, `run ${runs}`);
            const entries = await testLog.log.read(start, 10_000);
            for (const member of members) check(member, entries);
            for (const { rendered } of groups) expect(Math.max(1, ...rendered.values())).toBe(1);
            expect(feed.multicast.size).toBe(0);
            payloads += members.reduce((sum, { got }) => sum + got.length, 0);
          } finally {
            feed.stop();
          }
        },
      );
      try {
        await fc.assert(property, { numRuns, endOnFailure: true });
        expect(runs).toBeGreaterThanOrEqual(numRuns);
        process.stdout.write(`multicast on ${engine}: ${runs} runs, ${payloads} payloads\n`);
      } finally {
        await testLog.stop();
      }
    },
  );
});
