/** What is left of a service's quota for this session. */
export interface Quota {
  readonly quota: number;
  readonly remaining: number;
  /** When more remain; undefined while nothing is used. */
  readonly resetsAt: Date | undefined;
}

const policy = /"notes";q=(\d+)/;
const state = /"notes";r=(\d+)(?:;t=(\d+))?/;

/** The quota of the notes service as an answer's `RateLimit` headers tell it; undefined if they do not. */
export function quotaIn(headers: Headers): Quota | undefined {
  const [, quota] = policy.exec(headers.get('ratelimit-policy') ?? '') ?? [];
  const [, remaining, seconds] = state.exec(headers.get('ratelimit') ?? '') ?? [];
  if (quota === undefined || remaining === undefined) return undefined;
  const resetsAt = seconds === undefined ? undefined : new Date(Date.now() + Number(seconds) * 1_000);
  return { quota: Number(quota), remaining: Number(remaining), resetsAt };
}
