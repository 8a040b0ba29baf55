// Replaces pieces of code in the built modules while they are loaded. A missing piece is an error, since a variant that
// breaks nothing would prove nothing.
import { readdirSync, readFileSync } from 'node:fs';

const pause = 'await new Promise((resolve) => setTimeout(resolve, Math.random() * 50));';

/** By variant: pairs of a piece of code, as it is built, and its replacement. */
const breaks = {
  // The sender gets 200 before the event is on disk; commits are so slow that any kill under load shows it.
  'acknowledge-before-commit': [
    [
      'queue.push({ item, weight: more, resolve, reject });',
      "queue.push({ item, weight: more, resolve() {}, reject() {} }); resolve('stored');",
    ],
    ['??= this.#run();', '??= new Promise((resolve) => setTimeout(resolve, 1_500)).then(() => this.#run());'],
  ],
  // Looks up whether an event is known before it reads where the log ends, under the lock too, so that another gateway
  // may store it in between.
  'check-then-insert': [
    ['await this.#statements.lockHead(db, void 0);', ''],
    [
      'const { head, found } = await this.#statements.look(db, batch);',
      `const { found } = await this.#statements.look(db, batch); ${pause}
        await this.#statements.lockHead(db, void 0);
        const { head } = await this.#statements.look(db, batch);`,
    ],
    ['lockedAfterRace = 32', 'lockedAfterRace = 0'],
    ['"event_ids", idColumns, ids', '$&, sql`on conflict do nothing`'],
  ],
  // Assigns numbers in a commit of their own, as a sequence does, so that commits overtake each other.
  'number-before-commit': [
    [
      'const { head, found } = await this.#statements.look(db, batch);',
      `const [head] = await this.#statements.lockHead(db, batch.length); head.seq -= batch.length; ${pause}
        const { found } = await this.#statements.look(db, batch);`,
    ],
    ['await this.#statements.lockHead(db, void 0);', ''],
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
    ['and seq = ${written(({ from }) => from)}', ''],
  ],
};

const folder = new URL('../../../dist/', import.meta.url);

/** Finds a piece of code, however its lines are broken. */
const patternOf = (piece) =>
  new RegExp(
    piece
      .split(' ')
      .map((word) => word.replace(/\W/g, String.raw`\$&`))
      .join(String.raw`\s+`),
  );

let broken;

export function initialize({ variant }) {
  const urls = readdirSync(folder).map((name) => new URL(name, folder).href);
  const modules = urls.filter((url) => url.endsWith('.js'));
  broken = breaks[variant].map(([piece, replacement]) => {
    const pattern = patternOf(piece);
    const found = modules.filter((url) => pattern.test(readFileSync(new URL(url), 'utf8')));
    if (found.length !== 1) throw new Error(`${found.length} modules have ${piece}`);
    return { url: found[0], pattern, replacement };
  });
}

export async function load(url, context, next) {
  const loaded = await next(url, context);
  const pieces = broken.filter((each) => each.url === url);
  if (pieces.length === 0) return loaded;
  const source = pieces.reduce(
    (text, { pattern, replacement }) => text.replace(pattern, replacement),
    String(loaded.source),
  );
  return { ...loaded, source };
}
