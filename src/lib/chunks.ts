/** In bytes. */
const blockLength = 16 * 1024;

/**
 * The chunks of a body. Each takes 250 bytes besides its own, and a sender may send single bytes: short ones are copied
 * into blocks of 16 KiB.
 */
export class Chunks {
  readonly #complete: Buffer[] = [];
  #block: Buffer | undefined;
  #filled = 0;

  add(chunk: Buffer): void {
    if (chunk.length >= blockLength || this.#filled + chunk.length > blockLength) this.#endBlock();
    if (chunk.length >= blockLength) return void this.#complete.push(chunk);
    if (!this.#block) this.#block = chunk;
    else {
      if (this.#block.length < blockLength) this.#block = Buffer.concat([this.#block], blockLength);
      chunk.copy(this.#block, this.#filled);
    }
    this.#filled += chunk.length;
    return undefined;
  }

  /** The whole; a single chunk is not copied. */
  concat(): Buffer {
    this.#endBlock();
    return this.#complete.length === 1 ? this.#complete[0]! : Buffer.concat(this.#complete);
  }

  clear(): void {
    this.#complete.length = 0;
    this.#block = undefined;
    this.#filled = 0;
  }

  #endBlock(): void {
    if (this.#block) this.#complete.push(this.#block.subarray(0, this.#filled));
    this.#block = undefined;
    this.#filled = 0;
  }
}
