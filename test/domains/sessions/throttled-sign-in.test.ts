import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { ThrottledSignIn } from '../../../src/domains/sessions/throttled-sign-in.js';
import type { RateLimit } from '../../../src/lib/rate-limit.js';
import { createSealer } from '../../../src/lib/sealer.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { UpstreamError } from '../../../src/upstream/errors.js';
import { open } from '../../store/open-database.js';
import { createMigratedFile } from '../../support/sqlite.js';

let signIn: ThrottledSignIn;
let logged: string;
let limits: readonly RateLimit[];

beforeEach(async () => {
  logged = '';
  signIn = new ThrottledSignIn({
    database: await open(await createMigratedFile()),
    sealer: createSealer([randomBytes(32)]),
    clock: { now: () => 1_000_000 },
    telemetry: createTelemetry('info', { write: (line) => void (logged += line) }),
  });
});

type Outcome = 'WRONG_CREDENTIALS' | 'signed in';
const wrong = async (): Promise<Outcome> => 'WRONG_CREDENTIALS';
const right = async (): Promise<Outcome> => 'signed in';
const failing = (): Promise<Outcome> =>
  Promise.reject(new UpstreamError('notes', 'failing', { uncertain: true }));

const attempt = (exchange: () => Promise<Outcome>, email = 'ann@example.com', network = 'home') =>
  signIn.attempt({ email, network, onLimits: (told) => void (limits = told) }, exchange).catch(String);

async function repeat(times: number, ...[exchange, email, network]: Parameters<typeof attempt>) {
  for (let time = 0; time < times; time += 1) await attempt(exchange, email, network);
}

const namesTold = () => limits.map(({ name }) => name);

describe('once the notes service has failed at too many sign-ins', () => {
  test('the refusal says so, and tells of the limit', async () => {
    await repeat(19, failing);
    expect(namesTold()).toEqual(['sign-in', 'sign-in-network']);
    await repeat(1, failing);
    const refused = await attempt(right);
    expect(refused).toContain('The notes service failed at too many sign-ins; try again later.');
    expect(limits.find(({ name }) => name === 'sign-in-service')).toMatchObject({
      quota: 20,
      windowSeconds: 60,
      remaining: 0,
      resetSeconds: 60,
    });
  });

  test('neighbours’ failures leave a familiar address alone', async () => {
    await attempt(right);
    await repeat(20, failing, 'bob@example.com');
    expect(await attempt(right)).toBe('signed in');
    expect(namesTold()).toEqual(['sign-in', 'sign-in-network']);
  });
});

describe('an address', () => {
  const spellings = ['ánn@example.com', 'ＡNN@example.com', 'ann\u200b@example.com', 'ann@ example.com'];

  test('that is spelled otherwise has no failures of its own', async () => {
    for (const spelling of spellings) await repeat(3, wrong, spelling);
    expect(await attempt(right)).toContain('Too many failed sign-ins');
    expect(await attempt(right, 'anne@example.com')).toBe('signed in');
  });

  test('is not familiar where another spelling has signed in', async () => {
    await attempt(right, 'ánn@example.com');
    await repeat(10, wrong, 'ann@example.com', 'elsewhere');
    expect(await attempt(right)).toContain('Too many failed sign-ins');
    expect(await attempt(right, 'ánn@example.com')).toBe('signed in');
  });

  test('that is longer than any counts as one with its like', async () => {
    for (const more of ['a', 'b']) await repeat(5, wrong, `ann@example.com${more.repeat(1_000)}`);
    expect(await attempt(right, 'c'.repeat(1_001))).toContain('Too many failed sign-ins');
    expect(await attempt(right)).toBe('signed in');
  });

  test('that is locked leaves one line for an audit, without the address', async () => {
    await repeat(10, wrong);
    expect(logged).toBe('');
    await repeat(5, wrong);
    const lines = logged
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    const msg: unknown = expect.stringContaining('for one address are refused after ten failures');
    expect(lines).toMatchObject([{ level: 40, audit: true, msg }]);
    expect(logged).not.toContain('ann');
  });

  test('that is familiar is refused after a hundred failures of its network all the same', async () => {
    await attempt(right);
    for (let other = 0; other < 100; other += 1) await attempt(wrong, `${other}@example.com`);
    expect(await attempt(right)).toContain('Too many failed sign-ins');
    expect(namesTold()).toEqual(['sign-in-network']);
  });
});
