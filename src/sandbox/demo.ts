import type { NotesControl } from './notes.js';

/** The users that a new installation can sign in as; a gateway gives its grants to the first alone. */
export const demoUsers: readonly [DemoUser, ...DemoUser[]] = [
  { email: 'demo@example.com', password: 'demo-password', name: 'Dana Demo' },
  { email: 'other@example.com', password: 'demo-password', name: 'Otis Other' },
];

/** A user whose password is no secret. */
export interface DemoUser {
  readonly name: string;
  readonly email: string;
  readonly password: string;
}

const dayMs = 24 * 60 * 60 * 1000;

const titles: Readonly<Record<string, readonly string[]>> = {
  Work: [
    'Plan for the quarter',
    'Stand-up, Monday',
    'Questions for the review',
    'Who is on call',
    'Ideas from the workshop',
    'Interview with Priya',
    'What went wrong on Friday',
    'Names for the new service',
    'Draft of the announcement',
  ],
  Home: [
    'Shopping list',
    'Paint for the hallway',
    'Meter readings',
    'When the bins go out',
    'Plumber: what he said',
    'Spare keys',
    'Balcony: what to plant',
    'Shelf, measured twice',
    'Birthday presents',
  ],
  Reading: [
    'The Dispossessed, chapter three',
    'A Pattern Language: light on two sides',
    'Books lent to friends',
    'Quotes worth keeping',
    'Essay on slow software',
    'To read in winter',
    'Poems by Szymborska',
    'The Sense of Style',
    'Library card number',
  ],
  Travel: [
    'Packing list',
    'Night train to Vienna',
    'Cafés in Lisbon',
    'Passport: valid until',
    'Walk along the coast',
    'What to bring back',
    'Phrases in Portuguese',
    'Ferry timetable',
    'Hut with the blue door',
  ],
  Kitchen: [
    'Sourdough, day by day',
    'Lentil soup',
    'Plum cake as Grandma made it',
    'Coffee: grind and time',
    'Knives to be sharpened',
    'Menu for Saturday',
    'Pickled onions',
    'Oven runs ten degrees hot',
    'Herbs that keep',
  ],
};

/**
 * The demo users; the first has some 45 notes from the last weeks, with several tags and a few of them pinned, the other
 * none.
 */
export function addDemoData(notes: NotesControl, now: number): void {
  const [demoUser] = demoUsers;
  demoUsers.forEach(notes.addUser);
  const all = Object.entries(titles).flatMap(([tag, names]) =>
    names.map((title, index) => ({ tag, title, index })),
  );
  for (const [place, { tag, title, index }] of all.entries()) {
    const tags = index % 4 === 1 ? [tag, 'later'] : [tag];
    const content = `${title}.\n\nFirst thoughts, to be gone through again at the end of the week.`;
    const createdAt = now - dayMs * (1 + ((place * 7) % all.length));
    notes.insert(demoUser.email, { title, content, tags, is_pinned: index === 0 }, createdAt);
  }
}
