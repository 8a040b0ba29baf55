import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { joinPage } from '../../../src/client/core/page.js';
import type { Trivium } from '../../../src/client/core/trivium.js';
import { startSandbox } from '../../../src/sandbox/sandbox.js';
import { launchBrowser, skipBrowserTests } from '../../support/browser.js';
import { scrape } from '../../support/metrics.js';
import { demo, startTestbed, type Testbed } from '../../support/testbed.js';
import { bundle, serveApp } from '../browser-page.js';
import { openProxy, type Proxy } from '../proxy.js';

declare const shown: readonly string[];
declare const trivium: Trivium;
declare const follow: (after: string) => Promise<void>;

let testbed: Testbed;
let proxy: Proxy;
let browser: Browser;
let script: string;

const hour = 3_600_000;
let emitted = 0;

/** Emits an event, and adds the shipment's id to those that a page must show. */
async function emit(expected: string[]): Promise<void> {
  const id = `shp_page_${emitted++}`;
  await testbed.sandbox.webhooks.emitShipment({ shipment: { id } });
  expected.push(id);
}

/** A page with a clock of its own that follows the shipments, by a websocket or by a stream. */
async function openPage(transport: string): Promise<Page> {
  const context = await browser.newContext({ permissions: ['local-network-access'] });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.clock.install();
  await page.goto(`${await serveApp(context, proxy.url, script)}#${transport}`);
  await page.evaluate(({ email, password }) => trivium.signIn(email, password), demo);
  const { data } = await testbed.ask('{ liveCursor }', {}, await testbed.signIn());
  await page.evaluate((after) => void follow(after), data.liveCursor as string);
  return page;
}

const shownIn = (page: Page) => page.evaluate(() => [...shown]);
const connections = () =>
  proxy
    .said()
    .toString('latin1')
    .split(/GET \/graphql |POST \/graphql\/stream /).length - 1;

test('a page that comes back is woken by its `pageshow`, one that loads is not: it is about to connect', () => {
  const page = new EventTarget();
  vi.stubGlobal('document', Object.assign(new EventTarget(), { visibilityState: 'visible' }));
  vi.stubGlobal('window', page);
  onTestFinished(() => void vi.unstubAllGlobals());
  let woken = 0;
  const { leave } = joinPage(
    'http://127.0.0.1:4000',
    () => void woken++,
    () => {},
  );
  onTestFinished(leave);
  const show = (persisted: boolean) =>
    page.dispatchEvent(Object.assign(new Event('pageshow'), { persisted }));
  show(false);
  expect(woken).toBe(0);
  show(true);
  expect(woken).toBe(1);
});

test('a page is woken when the network goes, too: what is dead is to be found out soon', () => {
  const page = new EventTarget();
  vi.stubGlobal('document', Object.assign(new EventTarget(), { visibilityState: 'visible' }));
  vi.stubGlobal('window', page);
  onTestFinished(() => void vi.unstubAllGlobals());
  const woken = vi.fn<() => void>();
  const { leave } = joinPage('http://127.0.0.1:4000', woken, () => {});
  for (const event of ['offline', 'online']) page.dispatchEvent(new Event(event));
  expect(woken).toHaveBeenCalledTimes(2);
  leave();
  for (const event of ['offline', 'online']) page.dispatchEvent(new Event(event));
  expect(woken).toHaveBeenCalledTimes(2);
});

describe.skipIf(skipBrowserTests).for(['websocket', 'stream'])('in a page, over a %s,', (transport) => {
  beforeAll(async () => {
    const sandbox = await startSandbox();
    proxy = await openProxy(sandbox.url);
    testbed = await startTestbed({ sandbox, settings: { ALLOWED_ORIGINS: proxy.url } });
    proxy.redirectTo(testbed.url);
    browser = await launchBrowser();
    script = await bundle('test/client/stream/tabs-page.ts');
  });

  afterAll(async () => {
    await browser.close();
    await proxy.stop();
    await testbed.stop();
    await testbed.sandbox.stop();
  });

  test('a clock that jumps an hour ahead and back loses nothing, shows nothing twice, and reconnects at most once a jump', async () => {
    const page = await openPage(transport);
    const expected: string[] = [];
    await emit(expected);
    await expect.poll(() => shownIn(page)).toEqual(expected);
    const before = connections();
    const begun = Date.now();
    for (const jump of [hour, -hour]) {
      await page.clock.setSystemTime(begun + jump);
      await emit(expected);
      await expect.poll(() => shownIn(page)).toEqual(expected);
      await page.evaluate(() => dispatchEvent(new Event('pageshow')));
      await emit(expected);
      await expect.poll(() => shownIn(page)).toEqual(expected);
    }
    expect(connections() - before).toBeLessThanOrEqual(2);
    expect(await scrape(testbed.telemetry.metrics, 'trivium_subscriptions')).toBe(1);
  });

  test('a connection that went dead is found when the page is shown, although the clock has gone back', async () => {
    const page = await openPage(transport);
    const expected: string[] = [];
    await emit(expected);
    await expect.poll(() => shownIn(page)).toEqual(expected);
    await page.clock.setSystemTime(Date.now() - hour);
    proxy.mute();
    await emit(expected);
    await page.evaluate(() => dispatchEvent(new Event('pageshow')));
    // Without that, it is given up after 20 to 30 seconds of silence.
    await expect.poll(() => shownIn(page), { timeout: 15_000 }).toEqual(expected);
  });

  test.for(['online', 'pageshow', 'visibilitychange'])(
    '`%s` ends the pause before the next attempt',
    async (name) => {
      const page = await openPage(transport);
      const expected: string[] = [];
      await emit(expected);
      await expect.poll(() => shownIn(page)).toEqual(expected);
      // Where time stands still a pause never ends by itself.
      await page.clock.pauseAt(Date.now() + hour);
      proxy.shut(true);
      proxy.cut();
      await emit(expected);
      await expect.poll(() => scrape(testbed.telemetry.metrics, 'trivium_subscriptions')).toBe(0);
      proxy.shut(false);
      await page.evaluate((type) => {
        document.dispatchEvent(new Event(type, { bubbles: true }));
      }, name);
      await expect.poll(() => shownIn(page)).toEqual(expected);
    },
  );
});
