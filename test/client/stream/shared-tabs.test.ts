import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import { launchBrowser, skipBrowserTests } from '../../support/browser.js';
import { demo, startTestbed, type Testbed } from '../../support/testbed.js';
import { bundle, serveApp } from '../browser-page.js';

declare const shown: readonly string[];
declare const trivium: { signIn(email: string, password: string): Promise<unknown> };
declare const follow: (after: string) => Promise<void>;

let testbed: Testbed;
let browser: Browser;
let context: BrowserContext;
let address: string;
/** The streams that are open: their requests have not ended. */
let open = 0;

beforeAll(async () => {
  if (skipBrowserTests) return;
  testbed = await startTestbed();
  browser = await launchBrowser();
  context = await browser.newContext();
  address = await serveApp(context, testbed.url, await bundle('test/client/stream/tabs-page.ts'));
  const isStream = (url: string) => url.endsWith('/graphql/stream');
  context.on('request', (request) => void (isStream(request.url()) && open++));
  const end = (request: Request) => void (isStream(request.url()) && open--);
  context.on('requestfinished', end).on('requestfailed', end);
});

afterAll(async () => {
  await browser?.close();
  await testbed?.stop();
});

async function openTab(): Promise<Page> {
  const page = await context.newPage();
  await page.goto(address);
  return page;
}

const shownIn = (page: Page) => page.evaluate(() => [...shown]);
const emit = (id: string) => testbed.sandbox.webhooks.emitShipment({ shipment: { id } });

test.skipIf(skipBrowserTests)(
  'tabs without websockets share one stream, and go on over another when the tab that had it is closed',
  async () => {
    const [first, ...others] = [await openTab(), await openTab(), await openTab()] as const;
    await first.evaluate(({ email, password }) => trivium.signIn(email, password), demo);
    const { data } = await testbed.ask('{ liveCursor }', {}, await testbed.signIn());
    for (const page of [first, ...others])
      await page.evaluate((after) => void follow(after), data.liveCursor as string);
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
