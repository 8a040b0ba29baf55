import type { ServerResponse } from 'node:http';
import { Pace } from '../../lib/async/pace.js';
import { Turns } from '../../lib/async/turns.js';
import { isNetwork, type MemoryLedger } from '../../lib/memory/memory-ledger.js';
import { OperationMemory } from '../../lib/memory/operation-memory.js';

/** Admits operations, whichever way they come: each waits for its turn, and holds memory until it ends. */
export interface Admission {
  readonly ledger: MemoryLedger;
  /**
   * Begins an operation of a caller that holds about so many bytes of heap; no promise if its turn is now. Undefined if
   * there is no memory for it: then it is refused as `overloaded` says. `end` must be called, once.
   */
  begin(caller: string, bytes: number): Work | undefined | Promise<Work | undefined>;
  /** Does work that may take long, such as the parsing of a long text, when it is a caller's turn. */
  inTurn(caller: string, work: () => void): Promise<void>;
  /** Resolves when it is a caller's turn to have more read of what is long: a part of it, by how the system gives it. */
  toRead(caller: string): Promise<void>;
  /** Resolves when it is a caller's turn to have a short message taken that came in a turn which had been long. */
  toTake(caller: string): Promise<void>;
  /** To be asked before each long step of an operation, such as making its answer: see `Turns`. */
  breathe(caller?: string): Promise<void> | undefined;
}

/** A promise of a later turn of the event loop, if this one has been long. */
export type Breathe = () => Promise<void> | undefined;

/** An operation that has begun. */
export interface Work {
  readonly memory: OperationMemory;
  /** To be called when it is answered or, if it is a subscription, established; a second call does nothing. */
  end(): void;
}

/** How many operations of a user are in progress at once. */
export const maxOperationsPerUser = 8;
/** How many operations of a network whose users are not known are in progress at once. */
export const maxOperationsPerNetwork = 32;
/** What an operation takes in the heap besides what it was given. */
const operationBytes = 4_000;

/** From so many bytes on, more of a message or body is read in turns. */
export const longReading = 64 * 1024;
/** How many are read on with in a turn of the event loop: the system gives some 64 KiB of each. */
const readsPerTurn = 4;

/** How many short messages are taken in a turn. */
const takenPerTurn = 32;

/** When a client may try again what was refused for want of memory. */
export const retryAfterSeconds = 1;

/** The answer to what is refused for want of memory; its status is 503. */
export const overloaded = refusalOf(
  'You hold too much memory with what is in progress: ask again later, or for less at once.',
);
/** The answer in place of one that there is no memory for. */
export const withheld = refusalOf(
  'Too many long answers wait for you: ask again later, or for less. A mutation may still have taken effect.',
);

/** An answer of nothing but an error. */
export type Refusal = ReturnType<typeof refusalOf>;

function refusalOf(message: string) {
  return { errors: [{ message, extensions: { code: 'RATE_LIMITED', retryAfter: retryAfterSeconds } }] };
}

/** What a request is refused with before it is an operation. */
export class OverloadedRequest extends Error {
  readonly statusCode = 503;
}

/** Admission by one ledger. */
export function createAdmission(ledger: MemoryLedger): Admission {
  const longWork = new Pace(1);
  const reading = new Pace(readsPerTurn);
  const taking = new Pace(takenPerTurn);
  const turns = new Turns((caller) => (isNetwork(caller) ? maxOperationsPerNetwork : maxOperationsPerUser));

  function workOf(memory: OperationMemory): Work {
    let hasEnded = false;
    return {
      memory,
      end() {
        if (hasEnded) return;
        hasEnded = true;
        memory.end();
        turns.leave(memory.caller);
      },
    };
  }

  return {
    ledger,
    begin(caller, bytes) {
      const memory = new OperationMemory(ledger, caller);
      if (!memory.keep(operationBytes + bytes)) return undefined;
      const turn = turns.enter(caller);
      return turn ? turn.then(() => workOf(memory)) : workOf(memory);
    },
    toRead: (caller) => reading.turn(caller),
    toTake: (caller) => taking.turn(caller),
    breathe: (caller) => turns.breathe(caller),
    async inTurn(caller, work) {
      await turns.enter(caller);
      try {
        await longWork.do(work, caller);
      } finally {
        turns.leave(caller);
      }
    },
  };
}

/** In bytes. Shorter answers are charged with their connection. */
const shortAnswer = 16 * 1024;

/**
 * Charges an answer of so many characters until its client has taken it, or has gone. False if there is no room; if
 * there is none later, for others, the connection is closed.
 */
export function holdAnswer(
  ledger: MemoryLedger,
  caller: string,
  response: ServerResponse,
  length: number,
): boolean {
  if (length < shortAnswer || response.closed) return true;
  const leaving = ledger.open(caller, 'leaving', () => void response.destroy());
  if (!leaving.resize(length, length)) return false;
  response.once('close', () => leaving.release());
  return true;
}
