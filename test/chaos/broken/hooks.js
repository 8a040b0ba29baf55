// Replaces pieces of code in the built modules while they are loaded. A missing piece is an error, since a variant that
// breaks nothing would prove nothing.

const pause = 'await new Promise((resolve) => setTimeout(resolve, Math.random() * 50));';

/** By variant and module: pairs of a piece of code and its replacement. */
const breaks = {
  // The sender gets 200 before the event is on disk; commits are so slow that any kill under load shows it.
  'acknowledge-before-commit': {
    '/dist/events/queue.js': [
      [
        'queue.push({ item, weight: more, resolve, reject });',
        "queue.push({ item, weight: more, resolve() {}, reject() {} }); resolve('stored');",
      ],
      ['??= run();', '??= new Promise((resolve) => setTimeout(resolve, 1_500)).then(run);'],
    ],
  },
  // Looks up whether an event is known before it takes the lock, so that another gateway may store it in between.
  'check-then-insert': {
    '/dist/events/commit.js': [
      [
        'const [head] = await lockHead(db, undefined);',
        `const found = await findKnown(db, batch); ${pause} const [head] = await lockHead(db, undefined);`,
      ],
      ['of await findKnown(db, batch))', 'of found)'],
    ],
    '/dist/events/commit-statements.js': [
      ['({ ids }) => ids)),', '({ ids }) => ids), sql`on conflict do nothing`),'],
    ],
  },
  // Assigns numbers outside the transaction, as a sequence does, so that commits overtake each other.
  'without-the-heads-lock': {
    '/dist/events/commit.js': [
      [
        'const [head] = await lockHead(db, undefined);',
        `const [head] = await lockHead(store.kysely, batch.length); head.seq -= batch.length; ${pause}`,
      ],
    ],
    '/dist/events/commit-statements.js': [
      [
        'prepare(kysely, () => lockHead)',
        `prepare(kysely, (count) =>
          kysely
            .updateTable('log_head')
            .set(({ eb }) => ({ seq: eb('seq', '+', count((it) => it)) }))
            .where('id', '=', 1)
            .returning(['seq', 'pruned']))`,
      ],
      ['sql `update log_head set seq = ${written(({ head }) => head.seq)} where id = 1`,', ''],
    ],
  },
};

let broken;

export function initialize({ variant }) {
  broken = breaks[variant];
}

export async function load(url, context, next) {
  const loaded = await next(url, context);
  const module = Object.keys(broken).find((name) => url.endsWith(name));
  if (module === undefined) return loaded;
  let source = String(loaded.source);
  for (const [piece, replacement] of broken[module]) {
    const changed = source.replace(piece, replacement);
    if (changed === source) throw new Error(`${module} no longer has ${piece}`);
    source = changed;
  }
  return { ...loaded, source };
}
