import { randomBytes } from 'node:crypto';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { launchBrowser, skipBrowserTests } from '../../support/browser.js';
import { demo, startTestbed, type Testbed } from '../../support/testbed.js';

const SECRET_KEYS = randomBytes(32).toString('base64');
const cuts = 50;
const soon = { timeout: 30_000, interval: 50 };

/** A request for a stream, as it came to the proxy, and the status of its answer. */
interface Asked {
  readonly name: string | null;
  readonly lastEventId: string | undefined;
  status: number | undefined;
}

/** A proxy of HTTP that cuts streams; it has browsers ask again without their pause of three seconds. */
interface CuttingProxy {
  readonly url: string;
  readonly asked: readonly Asked[];
  /** Cuts each stream after a random number of bytes, so many times for each name. */
  cut(count: number): void;
  /** How many cuts are still to come for the name that has most. */
  readonly left: () => number;
}

async function openCuttingProxy(target: string): Promise<CuttingProxy> {
  const asked: Asked[] = [];
  const left = new Map<string | null, number>();

  function forward(from: IncomingMessage, to: ServerResponse): void {
    const url = new URL(from.url!, target);
    if (url.pathname === '/blank') {
      to.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>');
      return;
    }
    const isStream = url.pathname === '/graphql/stream';
    const entry: Asked = {
      name: url.searchParams.get('name'),
      lastEventId: from.headers['last-event-id'] as string | undefined,
      status: undefined,
    };
    if (isStream) asked.push(entry);
    const onward = request(url, { method: from.method, headers: from.headers, agent: false }, (answer) => {
      entry.status = answer.statusCode;
      to.writeHead(answer.statusCode!, answer.headers);
      if (isStream && answer.statusCode === 200) passStream(answer, to, entry.name);
      else answer.pipe(to);
    });
    onward.on('error', () => to.destroy());
    to.on('close', () => onward.destroy());
    from.pipe(onward);
  }

  function passStream(answer: IncomingMessage, to: ServerResponse, name: string | null): void {
    to.write('retry: 1\n\n');
    let allowed: number | undefined;
    let isCut = false;
    answer.on('error', () => to.destroy());
    answer.on('end', () => to.end());
    answer.on('data', (chunk: Buffer) => {
      if (isCut) return;
      const cutsLeft = left.get(name) ?? 0;
      if (cutsLeft === 0) {
        to.write(chunk);
        return;
      }
      // A first block has some 100 bytes, one of an update some 250.
      allowed ??= Math.floor(Math.random() * 600);
      if (chunk.length <= allowed) {
        allowed -= chunk.length;
        to.write(chunk);
        return;
      }
      isCut = true;
      left.set(name, cutsLeft - 1);
      const { socket } = to;
      if (allowed > 0) to.write(chunk.subarray(0, allowed), () => socket?.destroy());
      else socket?.destroy();
      answer.destroy();
    });
  }

  const server = createServer(forward);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    cut: (count) => asked.forEach(({ name }) => left.set(name, count)),
    left: () => Math.max(...left.values()),
  };
}

describe.skipIf(skipBrowserTests)('an EventSource (needs Chromium)', () => {
  let testbed: Testbed;
  let browser: Browser;

  beforeAll(async () => {
    [testbed, browser] = await Promise.all([
      startTestbed({ streamBeatMs: 50, settings: { SECRET_KEYS, ALLOWED_ORIGINS: 'loopback' } }),
      launchBrowser(),
    ]);
  });
  afterAll(async () => {
    await browser.close();
    await testbed.stop();
  });

  /** A page of the proxy's origin, signed in by the cookie. */
  async function openPage(proxy: CuttingProxy): Promise<Page> {
    const page = await browser.newPage();
    onTestFinished(() => page.close());
    await page.goto(`${proxy.url}/blank`);
    await page.evaluate(
      (input) =>
        fetch('/graphql', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            query: 'mutation ($input: SignInInput!) { signIn(input: $input) { errors { code } } }',
            variables: { input },
          }),
        }).then((response) => response.json()),
      demo,
    );
    return page;
  }

  /** Follows shipments in a page, which keeps the ids of all events that it is shown. */
  async function follow(page: Page, name: string, filter: object = {}, after?: string): Promise<void> {
    const query = `subscription ($filter: ShipmentUpdateFilter, $after: String) {
      shipmentUpdates(filter: $filter, after: $after) { event { eventId } } }`;
    const parameters = { query, variables: JSON.stringify({ filter, after }), name };
    await page.evaluate(
      ([url, key]) => {
        const source = new EventSource(url!);
        const got: string[] = [];
        Object.assign(globalThis, { [key!]: { source, got } });
        source.addEventListener('next', ({ data }: MessageEvent<string>) =>
          got.push(/"eventId":"([^"]+)"/.exec(data)![1]!),
        );
      },
      [`/graphql/stream?${new URLSearchParams(parameters)}`, name],
    );
  }

  const look = (page: Page, name: string) =>
    page.evaluate((key) => {
      const { source, got } = (
        globalThis as unknown as Record<string, { source: EventSource; got: string[] }>
      )[key]!;
      return { got, readyState: source.readyState };
    }, name);

  const send = async (id: string) =>
    (await testbed.sandbox.webhooks.emitShipment({ shipment: { id } })).eventId;

  test(
    `that is cut ${cuts} times shows each event once, also with a rare filter`,
    { timeout: 120_000 },
    async ({ annotate }) => {
      const proxy = await openCuttingProxy(testbed.url);
      const page = await openPage(proxy);
      await follow(page, 'all');
      await follow(page, 'rare', { shipmentIds: ['rare'] });
      await expect.poll(() => proxy.asked.map(({ status }) => status), soon).toEqual([200, 200]);
      const first = await send('rare');
      for (const name of ['all', 'rare'])
        await expect.poll(async () => (await look(page, name)).got, soon).toEqual([first]);
      proxy.cut(cuts);
      const sent = { all: [first], rare: [first] };
      while (proxy.left() > 0) {
        // Where the machine is busy, no more of them come between two requests than elsewhere.
        while (sent.all.length > 4 * proxy.asked.length) await sleep(1);
        const isRare = sent.all.length % 15 === 0;
        const eventId = await send(isRare ? 'rare' : 'usual');
        sent.all.push(eventId);
        if (isRare) sent.rare.push(eventId);
      }
      for (const name of ['all', 'rare'] as const)
        await expect.poll(async () => (await look(page, name)).got, soon).toEqual(sent[name]);
      const asked = (name: string) => proxy.asked.filter((each) => each.name === name);
      // The last cut may have come after the last event: then it is asked once more just now.
      await expect
        .poll(() => Math.min(asked('all').length, asked('rare').length), soon)
        .toBeGreaterThan(cuts);
      await expect.poll(() => [...new Set(proxy.asked.map(({ status }) => status))], soon).toEqual([200]);
      // Where little matched, heartbeats moved the place on.
      const places = new Set(asked('rare').map(({ lastEventId }) => lastEventId));
      expect(places.size).toBeGreaterThan(sent.rare.length / 2);
      await annotate(
        `${cuts} cuts each: ${sent.all.length} events by ${asked('all').length} requests, ` +
          `${sent.rare.length} by ${asked('rare').length} with the rare filter`,
      );
    },
  );

  /** Resolves once the page's source is closed for good; with the statuses of all its requests. */
  async function statusesAtEnd(page: Page, proxy: CuttingProxy, name: string) {
    await expect.poll(async () => (await look(page, name)).readyState, soon).toBe(2);
    return proxy.asked.filter((each) => each.name === name).map(({ status }) => status);
  }

  test(
    'asks no more after CURSOR_EXPIRED, a refusal that stays, and the end of its session',
    { timeout: 60_000 },
    async () => {
      const other = await startTestbed({ sandbox: testbed.sandbox, settings: { SECRET_KEYS } });
      onTestFinished(() => other.stop());
      testbed.sandbox.deliverTo(testbed.url);
      const { data } = await other.ask('{ liveCursor }', {}, await other.signIn());
      const proxy = await openCuttingProxy(testbed.url);
      const page = await openPage(proxy);
      await follow(page, 'expired', {}, data.liveCursor as string);
      expect(await statusesAtEnd(page, proxy, 'expired')).toEqual([410]);
      await follow(page, 'refused', { stages: ['NONE'] });
      expect(await statusesAtEnd(page, proxy, 'refused')).toEqual([400]);
      await follow(page, 'ended');
      await expect.poll(() => proxy.asked.at(-1)?.status, soon).toBe(200);
      await page.evaluate(() =>
        fetch('/graphql', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{"query":"mutation { signOut { signedOut } }"}',
        }),
      );
      // It asks once more, with the id of the end.
      expect(await statusesAtEnd(page, proxy, 'ended')).toEqual([200, 204]);
      expect(proxy.asked.at(-1)?.lastEventId).toBe('complete');
      expect((await look(page, 'ended')).got).toEqual([]);
    },
  );
});
