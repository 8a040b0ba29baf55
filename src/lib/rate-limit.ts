/** How much is left of a limit, as clients are told. */
export interface RateLimit {
  /** Letters and hyphens. */
  readonly name: string;
  /** How often it may be used in a window. */
  readonly quota: number;
  readonly windowSeconds: number;
  readonly remaining: number;
  /** Until more remain; undefined while nothing is used. */
  readonly resetSeconds: number | undefined;
}

/**
 * The headers `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10), each with an item for every
 * limit; none if there is no limit.
 */
export function rateLimitHeaders(limits: readonly RateLimit[]): Readonly<Record<string, string>> {
  if (limits.length === 0) return {};
  let policies = '';
  let states = '';
  for (const { name, quota, windowSeconds, remaining, resetSeconds } of limits) {
    const comma = policies === '' ? '' : ', ';
    const reset = resetSeconds === undefined ? '' : `;t=${resetSeconds}`;
    policies += `${comma}"${name}";q=${quota};w=${windowSeconds}`;
    states += `${comma}"${name}";r=${remaining}${reset}`;
  }
  return { 'ratelimit-policy': policies, ratelimit: states };
}
