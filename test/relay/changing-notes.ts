import { randomUUID } from 'node:crypto';
import type { Testbed } from '../support/testbed.js';

/** One user's notes, which are inserted and deleted while a client pages through them. */
export interface ChangingNotes {
  readonly token: string;
  /** Adds a note that is `ageHours` old; older notes come later in the list. */
  insert(title: string, ageHours: number): string;
  remove(id: string): void;
  /** The service's ids of the initial notes, in list order. */
  readonly originals: readonly string[];
}

const hourMs = 3_600_000;

/** Signs in a new user who has this many notes, each an hour older than the one before. */
export async function createNotes({ sandbox, signIn }: Testbed, notes: number): Promise<ChangingNotes> {
  const user = { email: `${randomUUID()}@example.com`, password: 'a-password' };
  sandbox.notes.addUser({ ...user, name: 'A Reader' });
  const now = sandbox.clock.now();
  const insert = (title: string, ageHours: number) =>
    sandbox.notes.insert(user.email, { title, tags: ['Shelf'] }, now - ageHours * hourMs).id;
  const originals = Array.from({ length: notes }, (_, index) => insert(`Note ${index}`, index + 1));
  return {
    originals,
    insert,
    remove: (id) => sandbox.notes.delete(user.email, id),
    token: await signIn(user),
  };
}

/** What happens between two pages: the indexes of originals before which a note is inserted, and of those removed. */
export interface Disturbance {
  readonly inserted: readonly number[];
  readonly removed: readonly number[];
}

/** Applies one disturbance at each `next`, and records which notes were removed. */
export function disturb(notes: ChangingNotes, disturbances: readonly Disturbance[]) {
  const removed = new Set<string>();
  const left = disturbances.values();
  return {
    next(): void {
      const { value } = left.next();
      for (const hour of value?.inserted ?? []) notes.insert('Inserted', hour + 0.5);
      for (const hour of value?.removed ?? []) {
        const id = notes.originals[hour];
        if (id === undefined || removed.has(id)) continue;
        removed.add(id);
        notes.remove(id);
      }
    },
    /** What is wrong with the ids seen: each original that remains has to come once and in order, and no id twice. */
    faults(seen: readonly string[]): readonly string[] {
      const originals = new Set(notes.originals);
      const remaining = notes.originals.filter((id) => !removed.has(id));
      const kept = seen.filter((id) => originals.has(id) && !removed.has(id));
      return [
        ...seen.filter((id, index) => seen.indexOf(id) !== index).map((id) => `${id} came twice`),
        ...remaining.filter((id) => !kept.includes(id)).map((id) => `${id} never came`),
        ...remaining.filter((id, index) => kept[index] !== id).map((id) => `${id} came at another place`),
      ];
    },
  };
}
