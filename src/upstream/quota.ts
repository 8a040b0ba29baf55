import type { Clock } from '../clock.js';
import { createMemory } from '../memory.js';

/** How many calls each token may still make. */
export interface Quota {
  /** The whole seconds to wait, where a token has no call left. */
  wait(token: string): number | undefined;
  /** Spends one call of a token; the same, where it has none left. */
  take(token: string): number | undefined;
  /** Takes all calls from a token for so many seconds. */
  pause(token: string, seconds: number): void;
}

interface Account {
  /** Calls by minute: the running one and the sixty before it. */
  readonly minutes: Uint32Array;
  minute: number;
  spent: number;
  pausedUntil: number;
}

const minuteMs = 60_000;
/** An hour and the minute that has begun, so that no hour, wherever it starts, has more than the limit. */
const kept = 61;
const mostAccounts = 10_000;

/** Counts the calls of the last hour for each token, to the minute; of the tokens the latest 10,000 or so are known. */
export function createQuota({ perHour, clock }: { perHour: number; clock: Clock }): Quota {
  const accounts = createMemory<Account>(mostAccounts, Infinity);

  function open(token: string): Account {
    const minute = Math.floor(clock.now() / minuteMs);
    const account = accounts.get(token) ?? enter(token, minute);
    forgetPast(account, minute);
    return account;
  }

  function enter(token: string, minute: number): Account {
    const account = { minutes: new Uint32Array(kept), minute, spent: 0, pausedUntil: 0 };
    accounts.set(token, account);
    return account;
  }

  /** When the oldest of the calls that count will count no more. */
  function relief({ minutes, minute }: Account): number {
    let age = kept - 1;
    while (age > 0 && minutes[(minute + kept - age) % kept] === 0) age -= 1;
    return (minute - age + kept) * minuteMs;
  }

  function waitOf(account: Account): number | undefined {
    const full = account.spent >= perHour;
    const until = Math.max(account.pausedUntil, full ? relief(account) : 0);
    return until > clock.now() ? Math.ceil((until - clock.now()) / 1000) : undefined;
  }

  return {
    wait: (token) => waitOf(open(token)),
    take(token) {
      const account = open(token);
      const wait = waitOf(account);
      if (wait !== undefined) return wait;
      account.minutes[account.minute % kept]! += 1;
      account.spent += 1;
      return undefined;
    },
    pause(token, seconds) {
      open(token).pausedUntil = clock.now() + seconds * 1000;
    },
  };
}

function forgetPast(account: Account, minute: number): void {
  const passed = Math.min(minute - account.minute, kept);
  for (let back = 0; back < passed; back += 1) {
    const slot = (minute - back) % kept;
    account.spent -= account.minutes[slot]!;
    account.minutes[slot] = 0;
  }
  if (passed > 0) account.minute = minute;
}
