/** A request under an idempotency key, which belongs to its user. */
export interface Keyed {
  readonly userId: string;
  readonly key: string;
  /** Equal for equal inputs. */
  readonly inputDigest: string;
}

/** How a request is carried out. */
export interface Run<R> {
  /** Begins; calls `hold` once the request has taken its key. */
  start(hold: () => void): Promise<R>;
  /** Asked once the result is there: resolves when its row is settled too; undefined if it already is. */
  settled(): Promise<void> | undefined;
}

/** Carries out the requests that come to this process, each of them once while it is under way. */
export interface RequestsUnderWay<R> {
  /**
   * Requests with the same key and input at the same moment are one: later ones share the first one's result, and so do
   * those that arrive before its row is settled. Returns undefined if a request with another input has taken the key;
   * before that, this one may be the one that takes it, and both are carried out.
   */
  join(request: Keyed, run: Run<R>): Promise<R> | undefined;
}

/** Creates the map of requests under way; it knows those of this process only. */
export function createRequestsUnderWay<R>(): RequestsUnderWay<R> {
  /** The results of the requests under way, by user, key and input. */
  const results = new Map<string, Promise<R>>();
  /** Which of those inputs has taken its key, by user and key, until its row is settled. */
  const holders = new Map<string, string>();

  return {
    join({ userId, key, inputDigest }, { start, settled }) {
      const userKey = textOf(userId, key);
      const requestKey = textOf(userId, key, inputDigest);
      const underWay = results.get(requestKey);
      if (underWay || holders.has(userKey)) return underWay;
      const forget = () => {
        results.delete(requestKey);
        if (holders.get(userKey) === inputDigest) holders.delete(userKey);
      };
      const result = start(() => void holders.set(userKey, inputDigest)).finally(() => {
        const row = settled();
        if (row) void row.then(forget);
        else forget();
      });
      results.set(requestKey, result);
      return result;
    },
  };
}

function textOf(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}
