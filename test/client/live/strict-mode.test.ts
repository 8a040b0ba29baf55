import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Browser } from 'playwright-core';
import type { Trivium } from '../../../src/client/core/trivium.js';
import { startSandbox } from '../../../src/sandbox/sandbox.js';
import { launchBrowser, skipBrowserTests } from '../../support/browser.js';
import { scrape } from '../../support/metrics.js';
import { demo, startTestbed, type Testbed } from '../../support/testbed.js';
import { bundle, serveApp } from '../browser-page.js';
import { openProxy, type Proxy } from '../proxy.js';
import { compileScreens } from '../relay/screens.js';

declare const trivium: Trivium;
declare const mount: () => void;
declare const unmount: () => void;
declare const active: () => number;
declare const faults: readonly string[];

let testbed: Testbed;
let proxy: Proxy;
let browser: Browser;

const emit = (id: string, type = 'created') =>
  testbed.sandbox.webhooks.emitShipment({ type: `shipment.${type}`, shipment: { id } });

/** What Relay's compiler makes of a page's list and subscription. */
async function compiled(): Promise<object> {
  const screens = await compileScreens();
  return {
    query: screens.operation('ScreenShipmentQuery'),
    list: screens.fragment('ScreenShipment_query'),
    updates: screens.operation('ScreenShipmentSubscription'),
  };
}

describe.skipIf(skipBrowserTests)('under StrictMode', () => {
  beforeAll(async () => {
    const sandbox = await startSandbox();
    proxy = await openProxy(sandbox.url);
    testbed = await startTestbed({ sandbox, settings: { ALLOWED_ORIGINS: proxy.url } });
    proxy.redirectTo(testbed.url);
    browser = await launchBrowser();
    for (let index = 0; index < 5; index++) await emit(`shp_strict_${index}`);
  });

  afterAll(async () => {
    await browser.close();
    await proxy.stop();
    await testbed.stop();
    await testbed.sandbox.stop();
  });

  test.for(['apollo', 'urql', 'relay'])(
    '/%s pages, is live, also after a cut, shows no row that goes back, and leaves no subscription',
    async (client) => {
      const context = await browser.newContext({ permissions: ['local-network-access'] });
      onTestFinished(() => context.close());
      const script = await bundle(`test/client/${client}/${client}-page.tsx`, 'development');
      if (client === 'relay')
        await context.addInitScript(`globalThis.artifacts = ${JSON.stringify(await compiled())}`);
      const page = await context.newPage();
      const errors: string[] = [];
      page.on('pageerror', (error) => errors.push(String(error)));
      await page.goto(await serveApp(context, proxy.url, script));
      await page.evaluate(({ email, password }) => trivium.signIn(email, password), demo);
      await page.evaluate(() => mount());
      const rows = (list: number) => page.locator('section').nth(list).locator('li').allTextContents();
      await expect.poll(() => rows(0)).toHaveLength(3);
      await page.getByRole('button', { name: 'More' }).first().click();
      await expect.poll(async () => (await rows(0)).length).toBeGreaterThanOrEqual(5);

      const id = `shp_strict_${client}`;
      await emit(id, 'in_transit');
      for (const list of [0, 1])
        await expect.poll(async () => (await rows(list))[0]).toBe(`${id} IN_TRANSIT`);
      proxy.shut(true);
      proxy.cut();
      await emit(id, 'delivered');
      proxy.shut(false);
      await expect.poll(async () => (await rows(0))[0]).toBe(`${id} DELIVERED`);
      await expect.poll(() => rows(1)).not.toContain(`${id} IN_TRANSIT`);

      expect(await page.evaluate(() => active())).toBeGreaterThan(0);
      await page.evaluate(() => unmount());
      await expect.poll(() => page.evaluate(() => active())).toBe(0);
      await expect.poll(() => scrape(testbed.telemetry.metrics, 'trivium_subscriptions')).toBe(0);
      expect([await page.evaluate(() => faults), errors]).toEqual([[], []]);
    },
  );
});
