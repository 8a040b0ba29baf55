/** Reproducible random numbers: the same seed gives the same draws. */
export interface Random {
  /** A number from `least` up to, but not including, `most`. */
  between(least: number, most: number): number;
  /** An integer from `least` to `most`. */
  whole(least: number, most: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** Independent random numbers, which do not depend on the order of other draws. */
  fork(name: string): Random;
}

/** Random numbers from a seed (sfc32, initialised with a hash of the seed). */
export function createRandom(seed: string): Random {
  let [a = 0, b = 0, c = 0, d = 0] = [0, 1, 2, 3].map((salt) => hash(`${salt} ${seed}`));
  const next = () => {
    const sum = (a + b + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 12; i++) next();
  const between = (least: number, most: number) => least + next() * (most - least);
  const whole = (least: number, most: number) => Math.floor(between(least, most + 1));
  return {
    between,
    whole,
    chance: (probability) => next() < probability,
    pick: (items) => items[whole(0, items.length - 1)]!,
    fork: (name) => createRandom(`${seed}/${name}`),
  };
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const character of text) value = Math.imul(value ^ character.codePointAt(0)!, 0x01000193);
  return value;
}
