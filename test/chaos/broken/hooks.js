// Replaces pieces of code in the built modules while they are loaded. A missing module or piece is an error, since a
// variant that breaks nothing would prove nothing.
import { existsSync } from 'node:fs';

const pause = 'await new Promise((resolve) => setTimeout(resolve, Math.random() * 50));';

/** By variant and module: pairs of a piece of code and its replacement. */
const breaks = {
  // The sender gets 200 before the event is on disk; commits are so slow that any kill under load shows it.
  'acknowledge-before-commit': {
    '/dist/lib/async/batch-queue.js': [
      [
        'queue.push({ item, weight: more, resolve, reject });',
        "queue.push({ item, weight: more, resolve() {}, reject() {} }); resolve('stored');",
      ],
      [
        '??= this.#run();',
        '??= new Promise((resolve) => setTimeout(resolve, 1_500)).then(() => this.#run());',
      ],
    ],
  },
  // Looks up whether an event is known before it reads where the log ends, so that another gateway may store it in
  // between.
  'check-then-insert': {
    '/dist/events/log/commit.js': [
      [
        'const { head, found } = await this.#statements.look(db, batch);',
        `const { found } = await this.#statements.look(db, batch); ${pause}
          const { head } = await this.#statements.look(db, batch);`,
      ],
      ['lockedAfterRace = 32', 'lockedAfterRace = 0'],
    ],
    '/dist/events/log/commit-statements.js': [
      ["'event_ids', idColumns, ids", '$&, sql`on conflict do nothing`'],
    ],
  },
  // Assigns numbers in a commit of their own, as a sequence does, so that commits overtake each other.
  'number-before-commit': {
    '/dist/events/log/commit.js': [
      [
        'const { head, found } = await this.#statements.look(db, batch);',
        `const [head] = await this.#statements.lockHead(db, batch.length); head.seq -= batch.length; ${pause}
          const { found } = await this.#statements.look(db, batch);`,
      ],
      ['await this.#statements.lockHead(db, undefined);', ''],
    ],
    '/dist/events/log/commit-statements.js': [
      [
        'prepare(kysely, () => lockHead)',
        `prepare(kysely, (count) =>
          kysely
            .updateTable('log_head')
            .set(({ eb }) => ({ seq: eb('seq', '+', count((it) => it)) }))
            .where('id', '=', 1)
            .returning(['seq', 'pruned']))`,
      ],
      ['set seq = ${written(({ head }) => head.seq)}', 'set seq = seq'],
      [' and seq = ${written(({ from }) => from)}', ''],
    ],
  },
};

let broken;

export function initialize({ variant }) {
  broken = breaks[variant];
  for (const name of Object.keys(broken))
    if (!existsSync(new URL(`../../..${name}`, import.meta.url))) throw new Error(`There is no ${name}`);
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
