import { describe, expect, test } from 'vitest';
import { endpointCaller, MemoryLedger, networkCaller } from '../../../src/lib/memory/memory-ledger.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { scrape } from '../../support/metrics.js';

const mebibyte = 2 ** 20;
const limits = { heap: 256 * mebibyte, buffers: 128 * mebibyte };

function createLedger() {
  const lines: string[] = [];
  const telemetry = createTelemetry('warn', { write: (line) => void lines.push(line) });
  return { ledger: new MemoryLedger(telemetry, limits), telemetry, lines };
}

describe('the memory ledger', () => {
  test('gives a caller no more than its share, and says so in the log and the metrics', async () => {
    const { ledger, telemetry, lines } = createLedger();
    const releases = Array.from({ length: 4 }, () => ledger.charge('user', 'parsed', 32 * mebibyte));
    expect(releases).not.toContain(undefined);
    expect(ledger.charge('user', 'parsed', mebibyte)).toBeUndefined();
    expect(await telemetry.metrics.text()).toContain(
      `trivium_memory_held_bytes{kind="parsed"} ${128 * mebibyte}`,
    );
    expect(await telemetry.metrics.text()).toContain('trivium_memory_refused_total{kind="parsed"} 1');
    expect(lines.join('')).toMatch(/"caller":"user".*holds too much memory/);
    releases[0]!();
    expect(ledger.charge('user', 'parsed', mebibyte)).toBeDefined();
  });

  test('keeps room for those who hold next to nothing', () => {
    const { ledger } = createLedger();
    for (const user of ['a', 'b', 'c'])
      for (let at = 0; at < 128; at += 1) ledger.charge(user, 'inProgress', mebibyte);
    expect(ledger.charge('d', 'inProgress', mebibyte)).toBeDefined();
    expect(ledger.charge('d', 'inProgress', 8 * mebibyte)).toBeUndefined();
  });

  test('gives up what has waited longest, of whoever holds most', () => {
    const { ledger } = createLedger();
    const given: string[] = [];
    const hold = (caller: string, name: string) =>
      ledger.open(caller, 'leaving', () => given.push(name)).resize(32 * mebibyte);
    for (const caller of ['a', 'b']) for (const at of [1, 2, 3]) hold(caller, `${caller}${at}`);
    hold('b', 'b4');
    expect(given).toEqual([]);
    expect(hold('c', 'c1')).toBe(true);
    expect(given).toEqual(['b1']);
    // A caller who has its share gives up its own.
    for (const at of [5, 6]) hold('b', `b${at}`);
    expect(given).toEqual(['b1', 'a1', 'b2']);
  });

  test('takes nothing from those who hold less than whoever asks', () => {
    const { ledger } = createLedger();
    const cut: string[] = [];
    for (const user of ['a', 'b']) expect(ledger.charge(user, 'inProgress', 100 * mebibyte)).toBeDefined();
    for (let at = 0; at < 500; at += 1)
      ledger.open(`other ${at}`, 'arriving', () => cut.push(`${at}`)).resize(16 * 1024);
    expect(ledger.charge('b', 'inProgress', 27 * mebibyte)).toBeUndefined();
    expect(cut).toEqual([]);
    expect(ledger.open('c', 'arriving', () => cut.push('c')).resize(16 * 1024)).toBe(true);
  });

  test('gives up what holds as much as the others that can be given up', () => {
    const { ledger } = createLedger();
    const given: string[] = [];
    const hold = (name: string, bytes: number, isKept = false) =>
      ledger.open('a', 'leaving', isKept ? undefined : () => given.push(name)).resize(bytes);
    hold('kept', 64 * mebibyte, true);
    for (let at = 0; at < 1_000; at += 1) hold('little', 1_000);
    for (const at of [1, 2, 3, 4, 5, 6, 7]) hold(`much ${at}`, 8 * mebibyte);
    // What is asked for is not counted: the others hold little beside it.
    const growing = ledger.open('a', 'arriving', () => given.push('growing'));
    expect(growing.resize(4 * mebibyte)).toBe(true);
    expect(growing.resize(16 * mebibyte)).toBe(true);
    expect(given).toEqual(['much 1', 'much 2']);
    // What is not given up any more is not either.
    growing.protect();
    expect(hold('much 8', 40 * mebibyte)).toBe(true);
    expect(given).toEqual(['much 1', 'much 2', 'much 3', 'much 4', 'much 5', 'much 6', 'much 7']);
  });

  test('charges what grows, and moves it to whom it turns out to belong to', () => {
    const { ledger } = createLedger();
    const holding = ledger.open(networkCaller('203.0.113.1'), 'arriving');
    expect(holding.add(0, 40 * mebibyte)).toBe(true);
    expect(holding.add(0, 40 * mebibyte)).toBe(false);
    const hasRoom = (mebibytes: number) =>
      ledger.hasRoom(networkCaller('203.0.113.1'), 0, mebibytes * mebibyte);
    expect([hasRoom(20), hasRoom(40)]).toEqual([true, false]);
    expect(holding.buffers).toBe(40 * mebibyte);
    expect(holding.become('user')).toBe(true);
    expect(ledger.open(networkCaller('203.0.113.1'), 'arriving').add(0, 60 * mebibyte)).toBe(true);
    expect(ledger.open('user', 'arriving').add(0, 60 * mebibyte)).toBe(false);
    holding.release();
    expect(ledger.open('user', 'arriving').add(0, 4 * mebibyte)).toBe(true);
  });

  test('has verified deliveries wait for room of their own', async () => {
    const { ledger } = createLedger();
    for (const user of ['a', 'b', 'c'])
      for (let at = 0; at < 128; at += 1) ledger.charge(user, 'inProgress', mebibyte);
    const endpoint = endpointCaller('payments', 'we_1');
    const first = await ledger.awaitRoom(endpoint, 'read', 100 * mebibyte, 1_000);
    expect(first).toBeDefined();
    expect(await ledger.awaitRoom(endpoint, 'read', mebibyte, 5)).toBeUndefined();
    const second = ledger.awaitRoom(endpoint, 'read', mebibyte, 10_000);
    first!();
    expect(await second).toBeDefined();
  });

  test('says so in the log and the metrics if there is no room for a verified delivery in time', async () => {
    const { ledger, telemetry, lines } = createLedger();
    const endpoint = endpointCaller('payments', 'we_1');
    const wait = () => ledger.awaitRoom(endpoint, 'read', 100 * mebibyte, 5);
    expect(await wait()).toBeDefined();
    expect(lines).toEqual([]);
    expect(await wait()).toBeUndefined();
    expect(await scrape(telemetry.metrics, 'trivium_memory_refused_total{kind="read"}')).toBe(1);
    expect(lines.join('')).toMatch(/"caller":"endpoint payments we_1".*holds too much memory/);
  });
});
