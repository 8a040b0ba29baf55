import { randomUUID } from 'node:crypto';
import type { Testbed } from '../support/testbed.js';

/** One user's notes, which come and go while a client pages through them. */
export interface Shelf {
  readonly token: string;
  /** Adds a note, so many hours old: an older one comes later in the list. */
  insert(title: string, ageHours: number): string;
  remove(id: string): void;
  /** The services' own ids of the notes that were there at first, in order. */
  readonly originals: readonly string[];
}

const hourMs = 3_600_000;

/** A new user with so many notes, one for each hour past, signed in. */
export async function stockShelf({ sandbox, signIn }: Testbed, notes: number): Promise<Shelf> {
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

/** What to do to the shelf between two pages: rows as their hours, new ones between the hours. */
export interface Disturbance {
  readonly inserted: readonly number[];
  readonly removed: readonly number[];
}

/** Does one disturbance after the other, and knows which rows were removed meanwhile. */
export function disturb(shelf: Shelf, disturbances: readonly Disturbance[]) {
  const removed = new Set<string>();
  const left = disturbances.values();
  return {
    next(): void {
      const { value } = left.next();
      for (const hour of value?.inserted ?? []) shelf.insert('Inserted', hour + 0.5);
      for (const hour of value?.removed ?? []) {
        const id = shelf.originals[hour];
        if (id === undefined || removed.has(id)) continue;
        removed.add(id);
        shelf.remove(id);
      }
    },
    /** What is wrong with the rows seen: each original that was not removed comes once and in order, no row twice. */
    faults(seen: readonly string[]): readonly string[] {
      const originals = new Set(shelf.originals);
      const stayed = shelf.originals.filter((id) => !removed.has(id));
      const kept = seen.filter((id) => originals.has(id) && !removed.has(id));
      return [
        ...seen.filter((id, index) => seen.indexOf(id) !== index).map((id) => `${id} came twice`),
        ...stayed.filter((id) => !kept.includes(id)).map((id) => `${id} never came`),
        ...stayed.filter((id, index) => kept[index] !== id).map((id) => `${id} came at another place`),
      ];
    },
  };
}
