import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { Trivium } from '../../../src/client/core/trivium.js';
import { launchBrowser, skipBrowserTests } from '../../support/browser.js';
import { demo, startTestbed, type Testbed } from '../../support/testbed.js';
import { bundle, serveApp } from '../browser-page.js';

declare const trivium: Trivium;
declare const mount: (name: string, id?: string) => void;
declare const unmount: () => void;
declare const active: () => number;

let testbed: Testbed;
let browser: Browser;
let script: string;
let context: BrowserContext;
let page: Page;
let faults: string[];

/** A page of a browser of its own, where the demo user is signed in. */
async function openPage(): Promise<Page> {
  const opened = await context.newPage();
  opened.on('pageerror', (error) => faults.push(String(error)));
  // A refused answer is in the console, too, as it has to be.
  opened.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load'))
      faults.push(message.text());
  });
  await opened.goto(await serveApp(context, testbed.url, script));
  return opened;
}

const show = (name: string, id?: string) => page.evaluate(([as, of]) => mount(as, of), [name, id] as const);
const rows = (of = page) => of.locator('li').allTextContents();
const output = (of = page) => of.locator('output').textContent();
const activeIn = () => page.evaluate(() => active());
/** Ends the session by the page's cookie, of which the client does not know. */
const endElsewhere = () =>
  page.evaluate(async () => {
    const headers = { 'content-type': 'application/json' };
    const body = '{"query":"mutation { signOut { signedOut } }"}';
    await fetch('/graphql', { method: 'POST', headers, body });
  });
const emit = (id: string, type = 'created') =>
  testbed.sandbox.webhooks.emitShipment({ type: `shipment.${type}`, shipment: { id } });

describe.skipIf(skipBrowserTests)('the hooks of React, under StrictMode', () => {
  beforeAll(async () => {
    testbed = await startTestbed();
    browser = await launchBrowser();
    script = await bundle('test/client/react/hooks-page.tsx', 'development');
    for (let index = 0; index < 3; index++) await emit(`shp_hooks_${index}`);
  });

  beforeEach(async () => {
    context = await browser.newContext({ permissions: ['local-network-access'] }); // for a page that is made by a test
    faults = [];
    page = await openPage();
    await page.evaluate(({ email, password }) => trivium.signIn(email, password), demo);
    onTestFinished(async () => {
      await context.close();
      if (faults.length > 0) throw new Error(faults.join('\n'));
    });
  });

  afterAll(async () => {
    await browser.close();
    await testbed.stop();
  });

  test('useTrivium gives the client of the provider', async () => {
    await show('client');
    await expect.poll(() => output()).toBe('true');
  });

  test('useSession asks who is signed in, and changes in all tabs when somebody signs out', async () => {
    await page.reload();
    await show('session');
    await expect.poll(() => output()).toBe('signed-in demo@example.com false');
    const other = await openPage();
    await other.evaluate(() => mount('session'));
    await expect.poll(() => output(other)).toBe('signed-in demo@example.com false');
    await page.evaluate(() => trivium.signOut());
    await expect.poll(() => output()).toBe('signed-out nobody false');
    await expect.poll(() => output(other)).toBe('signed-out nobody false');
    await other.evaluate(({ email, password }) => trivium.signIn(email, password), demo);
    await expect.poll(() => output()).toBe('signed-in demo@example.com false');
  });

  test('they ask once who is signed in, however many want to know, and again until the gateway answers', async () => {
    await page.reload();
    const asked: string[] = [];
    page.on('request', (request) => {
      const [, name] = /query (\w+)/.exec(request.postData() ?? '') ?? [];
      if (name) asked.push(name);
    });
    await context.route('**/graphql', (route) => route.abort());
    await show('filtered');
    await expect.poll(() => asked.filter((name) => name === 'Viewer').length).toBe(2);
    await context.unroute('**/graphql');
    await expect.poll(() => page.evaluate(() => trivium.session.status)).toBe('signed-in');
    await expect.poll(async () => (await rows()).length).toBeGreaterThan(1);
  });

  test('useSession says why it is not known yet who is signed in', async () => {
    await page.reload();
    const alerts = () => page.getByRole('alert').allTextContents();
    await context.route('**/graphql', (route) => route.abort());
    await show('session');
    await expect.poll(alerts).toEqual(['UNREACHABLE']);
    await context.unroute('**/graphql');
    await context.route('**/graphql', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<p>Hello' }),
    );
    await expect.poll(alerts).toEqual(['NOT_GRAPHQL']);
    expect(await output()).toBe('unknown nobody false');
    await context.unroute('**/graphql');
    await expect.poll(() => output()).toBe('signed-in demo@example.com false');
    expect(await alerts()).toEqual([]);
  });

  test('useLiveList does not begin anew once it is known who is signed in', async () => {
    await page.reload();
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    await context.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('query Viewer')) await held;
      return route.continue();
    });
    await show('list');
    await expect.poll(async () => (await rows()).length).toBeGreaterThan(1);
    let asked = 0;
    page.on('request', (request) => void (asked += Number(request.postData()?.includes('query Shipments('))));
    release();
    await expect.poll(() => page.evaluate(() => trivium.session.status)).toBe('signed-in');
    await emit('shp_hooks_known');
    await expect.poll(async () => (await rows())[0]).toBe('shp_hooks_known CREATED');
    expect(asked).toBe(0);
  });

  test('useLiveList shows rows that come, change and leave, and pages; unmounted it leaves no subscription', async () => {
    await show('filtered');
    const lists = async () =>
      (await page.locator('ul').all()).length &&
      page.locator('ul').evaluateAll((all) => all.map((one) => (one as HTMLElement).innerText));
    await emit('shp_hooks_a');
    await expect.poll(lists).toEqual([expect.stringMatching(/^shp_hooks_a CREATED/), '']);
    await emit('shp_hooks_a', 'in_transit');
    await expect
      .poll(lists)
      .toEqual([expect.stringMatching(/^shp_hooks_a IN_TRANSIT/), 'shp_hooks_a IN_TRANSIT']);
    await emit('shp_hooks_a', 'delivered');
    await expect.poll(lists).toEqual([expect.stringMatching(/^shp_hooks_a DELIVERED/), '']);
    const before = (await rows()).length;
    await page.getByRole('button', { name: 'More' }).first().click();
    await expect.poll(async () => (await rows()).length).toBeGreaterThan(before);
    expect(await activeIn()).toBeGreaterThan(0);
    await page.evaluate(() => unmount());
    await expect.poll(activeIn).toBe(0);
  });

  test('useLiveList shown again has what happened while it was not shown', async () => {
    await show('list');
    await emit('shp_hooks_b');
    await expect.poll(async () => (await rows())[0]).toBe('shp_hooks_b CREATED');
    await page.evaluate(() => unmount());
    await emit('shp_hooks_b', 'in_transit');
    await show('list');
    await expect.poll(async () => (await rows())[0]).toBe('shp_hooks_b IN_TRANSIT');
  });

  test('useLiveList says why nothing comes, and goes on when it is asked again', async () => {
    await context.route('**/graphql', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<p>Hello' }),
    );
    await show('list');
    await expect.poll(() => page.getByRole('alert').allTextContents()).toEqual(['NOT_GRAPHQL']);
    await context.unroute('**/graphql');
    await page.getByRole('button', { name: 'Again' }).click();
    await expect.poll(async () => (await rows()).length).toBeGreaterThan(1);
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  test('useLiveList and useSession say that the session has ended elsewhere, and nothing is left to follow', async () => {
    await show('list');
    await expect.poll(async () => (await rows()).length).toBeGreaterThan(1);
    await endElsewhere();
    await expect.poll(() => page.evaluate(() => trivium.session.ended)).toBe(true);
    await expect.poll(() => page.getByRole('alert').allTextContents()).toEqual(['UNAUTHENTICATED']);
    expect(await rows()).toEqual([]);
    await page.evaluate(() => unmount());
    await expect.poll(activeIn).toBe(0);
  });

  test('useSession says that the session ended while the machine slept, once the network is back', async () => {
    await show('session');
    await expect.poll(() => output()).toBe('signed-in demo@example.com false');
    await endElsewhere();
    expect(await output()).toBe('signed-in demo@example.com false');
    await page.evaluate(() => dispatchEvent(new Event('online')));
    await expect.poll(() => output()).toBe('signed-out nobody true');
  });

  test('useLive shows one shipment, or one payment, as it changes', async () => {
    await show('shipment', 'shp_hooks_c');
    await expect.poll(() => rows()).toEqual(['none']);
    await emit('shp_hooks_c');
    await expect.poll(() => rows()).toEqual(['shp_hooks_c CREATED']);
    await emit('shp_hooks_c', 'delivered');
    await expect.poll(() => rows()).toEqual(['shp_hooks_c DELIVERED']);
    await show('payment', 'pay_hooks');
    await expect.poll(() => rows()).toEqual(['none']);
    await testbed.sandbox.webhooks.emitPayment({ object: { id: 'pay_hooks', amount: 12 } });
    await expect.poll(() => rows()).toEqual(['pay_hooks 12']);
    await page.evaluate(() => unmount());
    await expect.poll(activeIn).toBe(0);
  });

  test('more of them than are kept are each asked for no more than twice, once for each mount of StrictMode', async () => {
    let asked = 0;
    page.on('request', (request) => void (asked += Number(request.postData()?.includes('query Shipment('))));
    await show('shipments', 'shp_hooks_many_');
    await expect.poll(async () => (await rows()).every((row) => row === 'none')).toBe(true);
    for (const index of [0, 59]) {
      await emit(`shp_hooks_many_${index}`);
      await expect.poll(async () => (await rows())[index]).toBe(`shp_hooks_many_${index} CREATED`);
    }
    expect(asked).toBeLessThanOrEqual(120);
  });
});
