// Replaces pieces of the built modules as they are loaded. A piece that is no longer there is an error: a variant that
// breaks nothing would prove nothing.

/** By variant: the module, and pairs of what is there and what takes its place. */
const breaks = {
  // The sender hears 200 before the event is on the disk, which is so slow a one that any kill under traffic tells.
  'acknowledge-before-commit': {
    module: '/dist/events/queue.js',
    pieces: [
      [
        'queue.push({ item, weight: more, resolve, reject });',
        "queue.push({ item, weight: more, resolve() {}, reject() {} }); resolve('stored');",
      ],
      ['??= run();', '??= new Promise((resolve) => setTimeout(resolve, 1_500)).then(run);'],
    ],
  },
  // Whether an event is known is looked up first, and nothing holds off who stores it in between.
  'check-then-insert': {
    module: '/dist/events/commit.js',
    pieces: [
      [
        /(const head = await lockHead\(db\);)\s*(const \{ known, states \} = await findKept\([^;]*;)/,
        '$2 await new Promise((resolve) => setTimeout(resolve, Math.random() * 50)); $1',
      ],
      ['fresh.map(toIdRow))', 'fresh.map(toIdRow), sql`on conflict do nothing`)'],
    ],
  },
  // Numbers are handed out by themselves, as a sequence does, and commits overtake each other.
  'without-the-heads-lock': {
    module: '/dist/events/commit.js',
    pieces: [
      [
        'const head = await lockHead(db);',
        'const head = await lockHead(kysely, batch.length);\n' +
          'head.seq -= batch.length;\n' +
          'await new Promise((resolve) => setTimeout(resolve, Math.random() * 50));',
      ],
      ['function lockHead(db)', 'function lockHead(db, count)'],
      ["({ ref }) => ({ seq: ref('seq') })", "({ eb }) => ({ seq: eb('seq', '+', count) })"],
      ['sql `update log_head set seq = ${last.seq} where id = 1`,', ''],
    ],
  },
};

let broken;

export function initialize({ variant }) {
  broken = breaks[variant];
}

export async function load(url, context, next) {
  const loaded = await next(url, context);
  if (!url.endsWith(broken.module)) return loaded;
  let source = String(loaded.source);
  for (const [piece, other] of broken.pieces) {
    const changed = source.replace(piece, other);
    if (changed === source) throw new Error(`${broken.module} no longer has ${piece}`);
    source = changed;
  }
  return { ...loaded, source };
}
