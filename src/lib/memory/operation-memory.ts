import type { Holding, MemoryLedger } from './memory-ledger.js';

/** What one operation holds, for whoever reads on its behalf. */
export class OperationMemory {
  readonly caller: string;
  readonly #ledger: MemoryLedger;
  readonly #own: Holding;
  #hasEnded = false;

  constructor(ledger: MemoryLedger, caller: string) {
    this.caller = caller;
    this.#ledger = ledger;
    this.#own = ledger.open(caller, 'inProgress');
  }

  /** What it has charged so far, in bytes of heap. */
  get held(): number {
    return this.#own.heap;
  }

  /** Charges so much more until it ends; false if there is no room. */
  keep(bytes: number): boolean {
    return this.#hasEnded || this.#own.add(bytes);
  }

  /** A holding of its caller's for what it reads, and lets go by itself. */
  open(): Holding {
    return this.#ledger.open(this.caller, 'read');
  }

  end(): void {
    this.#hasEnded = true;
    this.#own.release();
  }
}
