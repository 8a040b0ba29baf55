import type { Holding } from '../../../lib/memory/memory-ledger.js';

/** A message comes in no more fragments; each takes so much in the heap, and at least so much on the wire. */
export const maxFragments = 256;
const fragmentBytes = 200;
const leastFragment = 7;
/** What a frame of a client has on the wire besides so long a payload: type, length and mask. */
const headSizes = [
  [125, 6],
  [65_535, 8],
  [Infinity, 14],
] as const;
const [[, controlHead]] = headSizes;
/** What each chunk of a message takes in the heap, and what is not worth charging. */
const chunkBytes = 250;
const littleArriving = 4 * 1024;

/** What has arrived on a websocket and is not taken: a message that has begun, and whole ones that wait. */
export class Arriving {
  readonly #holding: Holding;
  /** Called when there is no room. */
  readonly #refuse: () => void;
  /** Those of the message that has begun, or of pings and pongs, and how many of them are the latter's. */
  #begun = 0;
  #control = 0;
  /** How many of those that have begun may be the heads of fragments of the message before. */
  #heads = 0;
  #chunks = 0;
  #latestChunk = 0;
  #waiting = 0;
  #waitingMessages = 0;

  constructor(holding: Holding, refuse: () => void) {
    this.#holding = holding;
    this.#refuse = refuse;
  }

  /** Charges it to somebody else. */
  become(caller: string): void {
    this.#holding.become(caller);
  }

  release(): void {
    this.#holding.release();
  }

  /** How many bytes there are of the message that has begun. */
  get begun(): number {
    return this.#begun;
  }

  /** Counts a chunk of so many bytes, before `ws` has it. */
  add(bytes: number): void {
    this.#begun += bytes;
    this.#chunks += 1;
    this.#latestChunk = bytes;
    this.#charge();
  }

  /** Counts a ping or pong as passed: a client may say nothing else for days. */
  passControl({ length }: Buffer): void {
    this.#control += controlHead + length;
    // What comes between the parts of a message is kept with them, in the same chunks.
    if (this.#control + this.#heads >= this.#begun) this.#leave(0);
  }

  /** Counts a message as whole. `ws` tells of it at once: behind it is only what came in the same chunk. */
  end({ length }: Buffer): void {
    const head = headSizes.find(([most]) => length <= most)![1];
    const left = this.#begun - this.#control - head - length;
    // Little may be the heads of its fragments.
    if (left <= littleArriving) return this.#leave(0);
    this.#leave(Math.min(left, this.#latestChunk));
    this.#heads = littleArriving;
  }

  /** Counts a whole message that waits for its turn. */
  keep({ length }: Buffer): void {
    this.#waiting += length;
    this.#waitingMessages += 1;
    this.#charge();
  }

  /** Counts one that waits no more. */
  letGo({ length }: Buffer): void {
    this.#waiting -= length;
    this.#waitingMessages -= 1;
    this.#charge();
  }

  #leave(bytes: number): void {
    this.#begun = bytes;
    this.#control = 0;
    this.#heads = 0;
    this.#chunks = bytes > 0 ? 1 : 0;
    this.#charge();
  }

  #charge(): void {
    const bytes = this.#begun + this.#waiting;
    if (bytes <= littleArriving) return this.#holding.release();
    const fragments = Math.min(Math.ceil(this.#begun / leastFragment), maxFragments);
    const heap = fragments * fragmentBytes + (this.#chunks + this.#waitingMessages) * chunkBytes;
    if (!this.#holding.resize(heap, bytes)) this.#refuse();
  }
}
