// Replaces pieces of the built modules as they are loaded. A piece that is no longer there is an error: a variant that
// breaks nothing would prove nothing.

const pause = 'await new Promise((resolve) => setTimeout(resolve, Math.random() * 50));';

/** By variant, by module: pairs of what is there and what takes its place. */
const breaks = {
  // The sender hears 200 before the event is on the disk, which is so slow a one that any kill under traffic tells.
  'acknowledge-before-commit': {
    '/dist/events/queue.js': [
      [
        'queue.push({ item, weight: more, resolve, reject });',
        "queue.push({ item, weight: more, resolve() {}, reject() {} }); resolve('stored');",
      ],
      ['??= run();', '??= new Promise((resolve) => setTimeout(resolve, 1_500)).then(run);'],
    ],
  },
  // Whether an event is known is looked up first, and nothing holds off who stores it in between.
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
  // Numbers are handed out by themselves, as a sequence does, and commits overtake each other.
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
  for (const [piece, other] of broken[module]) {
    const changed = source.replace(piece, other);
    if (changed === source) throw new Error(`${module} no longer has ${piece}`);
    source = changed;
  }
  return { ...loaded, source };
}
