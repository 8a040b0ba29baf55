/** In bytes. Chunks take 250 bytes each besides their own, and a sender may send single bytes. */
export const blockLength = 16 * 1024;
/** A block is full with so many chunks, too: each takes some 2 µs. */
const blockChunks = 1_000;

/** Short chunks, copied into one; a single one is not copied. */
export class Block {
  #held: Buffer | undefined;
  #filled = 0;
  #chunks = 0;

  /** Whether there is room for a chunk. */
  fits({ length }: Buffer): boolean {
    return this.#filled + length <= blockLength && this.#chunks < blockChunks;
  }

  /** Adds a chunk that fits, and is shorter than a block. */
  add(chunk: Buffer): void {
    if (!this.#held) this.#held = chunk;
    else {
      if (this.#held.length < blockLength) this.#held = Buffer.concat([this.#held], blockLength);
      chunk.copy(this.#held, this.#filled);
    }
    this.#filled += chunk.length;
    this.#chunks += 1;
  }

  /** Returns what was added, and is empty then; undefined if there is nothing. */
  take(): Buffer | undefined {
    const held = this.#held;
    const filled = this.#filled;
    this.#held = undefined;
    this.#filled = 0;
    this.#chunks = 0;
    if (held === undefined) return undefined;
    const block = held.subarray(0, filled);
    // Of a block that is hardly filled, the rest is not kept.
    return filled * 2 < held.length ? Buffer.from(block) : block;
  }
}

/** The chunks of a body, the short ones joined in blocks. */
export class Chunks {
  readonly #complete: Buffer[] = [];
  readonly #block = new Block();

  add(chunk: Buffer): void {
    if (!this.#block.fits(chunk)) this.#endBlock();
    if (chunk.length >= blockLength) this.#complete.push(chunk);
    else this.#block.add(chunk);
  }

  /** The whole; a single chunk is not copied. */
  concat(): Buffer {
    this.#endBlock();
    return this.#complete.length === 1 ? this.#complete[0]! : Buffer.concat(this.#complete);
  }

  clear(): void {
    this.#complete.length = 0;
    this.#block.take();
  }

  #endBlock(): void {
    const block = this.#block.take();
    if (block) this.#complete.push(block);
  }
}
