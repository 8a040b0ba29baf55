import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import type { Trivium } from '../../../src/client/core/trivium.js';
import { launchBrowser, skipBrowserTests } from '../../support/browser.js';
import { demo, startTestbed, type Testbed } from '../../support/testbed.js';
import { bundle, serveApp } from '../browser-page.js';

declare const shown: readonly string[];
declare const ended: readonly string[];
declare const thaw: () => void;
declare const trivium: Trivium;
declare const follow: (after: string) => Promise<void>;

let testbed: Testbed;
let browser: Browser;
let context: BrowserContext;
let address: string;
/** The streams that are open: their requests have not ended. */
let open: number;

beforeAll(async () => {
  if (skipBrowserTests) return;
  testbed = await startTestbed();
  browser = await launchBrowser();
});

beforeEach(async () => {
  if (skipBrowserTests) return;
  open = 0;
  context = await browser.newContext();
  address = await serveApp(context, testbed.url, await bundle('test/client/stream/tabs-page.ts'));
  const isStream = (url: string) => url.endsWith('/graphql/stream');
  context.on('request', (request) => void (isStream(request.url()) && open++));
  const end = (request: Request) => void (isStream(request.url()) && open--);
  context.on('requestfinished', end).on('requestfailed', end);
  onTestFinished(() => context.close());
});

afterAll(async () => {
  await browser?.close();
  await testbed?.stop();
});

async function openTab(hash = ''): Promise<Page> {
  const page = await context.newPage();
  await page.goto(address + hash);
  return page;
}

/** Signs in, and has each of these tabs follow the shipments from now on, one after the other: the first leads. */
async function followIn(pages: readonly Page[]): Promise<void> {
  await signIn(pages[0]!);
  const { data } = await testbed.ask('{ liveCursor }', {}, await testbed.signIn());
  for (const page of pages) await page.evaluate((after) => void follow(after), data.liveCursor as string);
}

const signIn = (page: Page) => page.evaluate(({ email, password }) => trivium.signIn(email, password), demo);

/** Has a tab say nothing more to the others, as one that is frozen; returns what has it say all of that late. */
async function freeze(page: Page): Promise<() => Promise<unknown>> {
  await page.evaluate(() => {
    const channel = BroadcastChannel.prototype;
    const { postMessage } = channel;
    const late: (() => void)[] = [];
    channel.postMessage = function (message) {
      late.push(() => postMessage.call(this, message));
    };
    Object.assign(globalThis, {
      thaw() {
        channel.postMessage = postMessage;
        for (const say of late) say();
      },
    });
  });
  return () => page.evaluate(() => thaw());
}

const shownIn = (page: Page) => page.evaluate(() => [...shown]);
const emit = (id: string) => testbed.sandbox.webhooks.emitShipment({ shipment: { id } });

test.skipIf(skipBrowserTests)(
  'tabs without websockets share one stream, and go on over another when the tab that had it is closed',
  async () => {
    const [first, ...others] = [await openTab(), await openTab(), await openTab()] as const;
    await followIn([first, ...others]);
    await emit('shp_tabs_1');
    for (const page of [first, ...others]) await expect.poll(() => shownIn(page)).toEqual(['shp_tabs_1']);
    await emit('shp_tabs_2');
    for (const page of [first, ...others])
      await expect.poll(() => shownIn(page)).toEqual(['shp_tabs_1', 'shp_tabs_2']);
    await expect.poll(() => open).toBe(1);
    await first.close();
    await emit('shp_tabs_3');
    for (const page of others)
      await expect.poll(() => shownIn(page)).toEqual(['shp_tabs_1', 'shp_tabs_2', 'shp_tabs_3']);
    await emit('shp_tabs_4');
    for (const page of others) await expect.poll(async () => (await shownIn(page)).at(-1)).toBe('shp_tabs_4');
    expect(await Promise.all(others.map(shownIn))).toEqual(
      others.map(() => ['shp_tabs_1', 'shp_tabs_2', 'shp_tabs_3', 'shp_tabs_4']),
    );
  },
);

test.skipIf(skipBrowserTests)('a tab that may not speak to others runs its stream itself', async () => {
  await context.addInitScript(() => {
    const construct = () => {
      throw new DOMException('The operation is insecure.', 'SecurityError');
    };
    globalThis.BroadcastChannel = new Proxy(BroadcastChannel, { construct });
  });
  const page = await openTab();
  await followIn([page]);
  await emit('shp_alone_1');
  await expect.poll(() => shownIn(page)).toEqual(['shp_alone_1']);
});

test.skipIf(skipBrowserTests)(
  'a tab that is frozen while it runs the stream of another is done without, and nothing is lost or shown twice',
  async () => {
    const [first, other] = [await openTab(), await openTab()];
    await other.clock.install();
    await followIn([first, other]);
    await emit('shp_frozen_1');
    for (const page of [first, other]) await expect.poll(() => shownIn(page)).toEqual(['shp_frozen_1']);
    await expect.poll(() => open).toBe(1);
    const goOn = await freeze(first);
    await emit('shp_frozen_2');
    // Silence, until that is too long, and until it is clear that the other tab does not take the subscription again.
    const shownLater = async () => {
      await other.clock.fastForward(10_000);
      return shownIn(other);
    };
    await expect.poll(shownLater).toEqual(['shp_frozen_1', 'shp_frozen_2']);
    expect(open).toBe(2);
    await goOn();
    await emit('shp_frozen_3');
    for (const page of [first, other])
      await expect.poll(() => shownIn(page)).toEqual(['shp_frozen_1', 'shp_frozen_2', 'shp_frozen_3']);
  },
);

test.skipIf(skipBrowserTests)(
  'who signs out in one tab is signed out in all, whichever runs the stream, and nothing is followed any more',
  async () => {
    const [first, second, third] = [await openTab(), await openTab(), await openTab()];
    const pages = [first, second, third];
    await followIn(pages);
    for (const page of pages) await page.evaluate(() => trivium.refresh());
    await emit('shp_out_1');
    for (const page of pages) await expect.poll(() => shownIn(page)).toEqual(['shp_out_1']);
    await second.evaluate(() => trivium.signOut());
    for (const page of pages) {
      await expect.poll(() => page.evaluate(() => trivium.session.status)).toBe('signed-out');
      await expect.poll(() => page.evaluate(() => ended)).toEqual(['UNAUTHENTICATED']);
    }
    await expect.poll(() => open).toBe(0);
    expect(await Promise.all(pages.map((page) => page.evaluate(() => trivium.session.ended)))).toEqual([
      false,
      false,
      false,
    ]);
  },
);

test.skipIf(skipBrowserTests)(
  'a tab that is shown again finds out at once that the one which runs its stream is frozen',
  async () => {
    const [first, other] = [await openTab(), await openTab()];
    await other.clock.install();
    await followIn([first, other]);
    await emit('shp_woken_1');
    for (const page of [first, other]) await expect.poll(() => shownIn(page)).toEqual(['shp_woken_1']);
    await expect.poll(() => open).toBe(1);
    await freeze(first);
    await emit('shp_woken_2');
    await other.evaluate(() => dispatchEvent(new Event('pageshow')));
    // Too long for the other tab to answer, and to take the subscription again, but not for its usual silence.
    for (let wait = 0; wait < 2; wait++) await other.clock.runFor(2_500);
    await expect.poll(() => shownIn(other), { timeout: 15_000 }).toEqual(['shp_woken_1', 'shp_woken_2']);
    expect(open).toBe(2);
  },
);

test.skipIf(skipBrowserTests)(
  'tabs with `storage: sessionStorage` have a session and a stream each, and one signs out alone',
  async () => {
    const pages = [await openTab('#own-session'), await openTab('#own-session')] as const;
    for (const page of pages) await signIn(page);
    const { data } = await testbed.ask('{ liveCursor }', {}, await testbed.signIn());
    for (const page of pages) await page.evaluate((after) => void follow(after), data.liveCursor as string);
    await emit('shp_own_1');
    for (const page of pages) await expect.poll(() => shownIn(page)).toEqual(['shp_own_1']);
    expect(open).toBe(2);
    const [first, second] = pages;
    await first.evaluate(() => trivium.signOut());
    await expect.poll(() => first.evaluate(() => ended)).toEqual(['UNAUTHENTICATED']);
    await expect.poll(() => open).toBe(1);
    await emit('shp_own_2');
    await expect.poll(() => shownIn(second)).toEqual(['shp_own_1', 'shp_own_2']);
    expect(await second.evaluate(() => trivium.session.status)).toBe('signed-in');
    expect(await shownIn(first)).toEqual(['shp_own_1']);
  },
);

test.skipIf(skipBrowserTests)('a tab with a cookie and one with a token share no stream', async () => {
  const pages = [await openTab(), await openTab('#stored')] as const;
  for (const page of pages) await signIn(page);
  await followIn(pages);
  await emit('shp_apart_1');
  for (const page of pages) await expect.poll(() => shownIn(page)).toEqual(['shp_apart_1']);
  expect(open).toBe(2);
});
