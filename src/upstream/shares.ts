import { createMemory } from '../memory.js';
import type { Deadline } from './deadline.js';
import { UpstreamError, type UpstreamName } from './failure.js';

/**
 * Makes a call with a token as soon as that token's share of a service has room, and gives it its whole time from then
 * on. Rejects with an `UpstreamError` where its deadline is over before: then it was not made.
 */
export type InTurn = <T>(token: string, deadline: Deadline, call: () => Promise<T>) => Promise<T>;

/** What one token has of a service. */
interface Share {
  free: number;
  /** The calls that wait, in the order in which they came; each is begun by what is kept here. */
  readonly waiting: Set<() => void>;
}

const mostShares = 10_000;

/**
 * Shares a service among those who call it: `size` calls with one token are under way at once, the others wait, so that
 * nobody's slow calls take all connections. Of the tokens the latest 10,000 or so are known.
 */
export function createShares(upstream: UpstreamName, size: number): InTurn {
  const shares = createMemory<Share>(mostShares, Infinity);

  function open(token: string): Share {
    const share = { free: size, waiting: new Set<() => void>() };
    shares.set(token, share);
    return share;
  }

  function wait({ waiting }: Share, deadline: Deadline): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        waiting.delete(begin);
        reject(new UpstreamError(upstream, deadline.over!));
      };
      const begin = () => {
        forget();
        // With the moment that is left it would be late at once, and that be taken for a failure of the service.
        deadline.renew();
        resolve();
      };
      waiting.add(begin);
      const forget = deadline.whenOver(giveUp);
      if (deadline.over) giveUp();
    });
  }

  return async (token, deadline, call) => {
    const share = shares.get(token) ?? open(token);
    if (share.free > 0) share.free -= 1;
    else await wait(share, deadline);
    try {
      return await call();
    } finally {
      passOn(share);
    }
  };
}

function passOn(share: Share): void {
  const [next] = share.waiting;
  if (!next) {
    share.free += 1;
    return;
  }
  share.waiting.delete(next);
  next();
}
