/** What can be given up, in bytes; of less than 4 GiB. */
export interface Given {
  readonly heap: number;
  readonly buffers: number;
  /** When it came to hold about as much as it does, as a number that grows. Set here. */
  since: number;
}

/**
 * What one caller holds and can give up. Those that hold about as much, within a factor of two, are in the order in which
 * they came to: there may be tens of thousands, of which none is looked at in vain.
 */
export class Expendable<T extends Given> {
  count = 0;
  #bytes = 0;
  #changes = 0;
  readonly #bySize: (Set<T> | undefined)[] = [];

  /** Must be called when one holds more or less than it did; it is gone once that is nothing. */
  change(one: T, was: number, is: number): void {
    this.#bytes += is - was;
    this.count += Number(is > 0) - Number(was > 0);
    const from = sizeClass(was);
    const to = sizeClass(is);
    if (from === to) return;
    this.#bySize[from]?.delete(one);
    if (is === 0) return;
    one.since = this.#changes += 1;
    (this.#bySize[to] ??= new Set()).add(one);
  }

  /**
   * Which of the others has held for longest about as much as they do on the average: to give up one that holds little
   * would help nobody.
   */
  earliest(except: T): T | undefined {
    const held = except.heap + except.buffers;
    const own = this.#bySize[sizeClass(held)]?.has(except) ? held : 0;
    const others = this.count - Number(own > 0);
    let found: T | undefined;
    for (let size = sizeClass((this.#bytes - own) / others); size < this.#bySize.length; size += 1) {
      for (const one of this.#bySize[size] ?? []) {
        if (one === except) continue;
        if (!found || one.since < found.since) found = one;
        break;
      }
    }
    return found;
  }
}

/** The same for sizes within a factor of two; 0 for nothing. */
function sizeClass(bytes: number): number {
  return 32 - Math.clz32(bytes);
}
