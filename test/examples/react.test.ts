import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Browser, Page, Route } from 'playwright-core';
import { build, preview, type PreviewServer } from 'vite';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { openProxy, type Proxy } from '../client/proxy.js';
import { launchBrowser, skipBrowserTests } from '../support/browser.js';
import { startTestbed, type Testbed } from '../support/testbed.js';
import { installPackages } from './install.js';

const run = promisify(execFile);
const require = createRequire(import.meta.url);

const SECRET_KEYS = randomBytes(32).toString('base64');
let root: string;
let sandbox: Sandbox;
let testbed: Testbed;
let proxy: Proxy;
let server: PreviewServer;
let browser: Browser;

const addressOf = (running: PreviewServer) => new URL(running.resolvedUrls!.local[0]!).origin;

const startGateway = () =>
  startTestbed({
    sandbox,
    folder: join(root, 'data'),
    settings: { SECRET_KEYS, ALLOWED_ORIGINS: addressOf(server) },
  });

beforeAll(async () => {
  if (skipBrowserTests) return;
  root = mkdtempSync(join(tmpdir(), 'trivium-example-'));
  mkdirSync(join(root, 'data'));
  cpSync('examples/react', root, { recursive: true });
  await installPackages(root);
  sandbox = await startSandbox();
  proxy = await openProxy(sandbox.url);
  process.env['VITE_TRIVIUM_URL'] = proxy.url;
  await build({ root, logLevel: 'warn' });
  delete process.env['VITE_TRIVIUM_URL'];
  server = await preview({ root, preview: { port: 0 }, logLevel: 'warn' });
  testbed = await startGateway();
  proxy.redirectTo(testbed.url);
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.close();
  await proxy?.stop();
  await testbed?.stop();
  await sandbox?.stop();
  if (root) rmSync(root, { recursive: true, force: true });
});

const rows = (page: Page, section: string) => page.locator(`#${section} li`).allTextContents();
const emit = (id: string, type: string) =>
  sandbox.webhooks.emitShipment({ type: `shipment.${type}`, shipment: { id } });

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Password').fill('demo-password');
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function addNote(page: Page, title: string): Promise<void> {
  await page.getByPlaceholder('A new note').fill(title);
  await page.getByRole('button', { name: 'Add' }).click();
}

test.skipIf(skipBrowserTests)('compiles as it is', async () => {
  const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');
  const { stdout } = await run(process.execPath, [tsc], { cwd: root }).catch(
    (error: unknown) => error as { stdout: string },
  );
  expect(stdout).toBe('');
});

test.skipIf(skipBrowserTests)(
  'signs in, pages and writes notes, and stays live while the network is cut and the gateway is restarted',
  async () => {
    const page = await browser.newPage();
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    await page.goto(addressOf(server));
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await signIn(page);

    await expect.poll(() => rows(page, 'notes')).toHaveLength(3);
    const more = page.locator('#notes').getByRole('button', { name: 'More' });
    await more.evaluate((button: HTMLElement) => [1, 2].forEach(() => button.click()));
    await expect.poll(async () => (await rows(page, 'notes')).length).toBeGreaterThan(3);
    await addNote(page, 'From the example');
    await expect.poll(async () => (await rows(page, 'notes'))[0]).toBe('From the example');

    await emit('shp_example', 'created');
    await expect.poll(async () => (await rows(page, 'shipments'))[0]).toBe('shp_example CREATED');
    await sandbox.webhooks.emitPayment();
    await expect.poll(async () => (await rows(page, 'payments')).length).toBeGreaterThan(0);

    proxy.shut(true);
    proxy.cut();
    await emit('shp_example', 'in_transit');
    proxy.shut(false);
    await expect.poll(() => rows(page, 'shipments')).toContain('shp_example IN_TRANSIT');

    await testbed.stop();
    testbed = await startGateway();
    proxy.redirectTo(testbed.url);
    await emit('shp_example', 'delivered');
    await expect.poll(() => rows(page, 'shipments'), { timeout: 30_000 }).toContain('shp_example DELIVERED');
    expect((await rows(page, 'shipments')).filter((row) => row.startsWith('shp_example'))).toHaveLength(1);

    await page.reload();
    await expect.poll(() => rows(page, 'shipments'), { timeout: 30_000 }).toContain('shp_example DELIVERED');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Password').waitFor();
    expect(faults).toEqual([]);
  },
);

test.skipIf(skipBrowserTests)('says why it waits, and shows no null', async () => {
  const page = await browser.newPage();
  await page.route('**/graphql', (route) => route.abort());
  await page.goto(addressOf(server));
  await page.getByText('One moment … The gateway cannot be reached.').waitFor();
  await page.unroute('**/graphql');
  await signIn(page);
  await sandbox.webhooks.emitPayment({
    object: { id: 'pay_bare', amount: undefined, currency: undefined },
  });
  await expect.poll(() => rows(page, 'payments')).toContain('pay_bare');
  await sandbox.webhooks.emitPayment({ object: { id: 'pay_whole', amount: 5, currency: 'eur' } });
  await expect.poll(() => rows(page, 'payments')).toContain('pay_whole 5 eur');
});

test.skipIf(skipBrowserTests)(
  'loses no note that is written while the first notes cannot be had',
  async () => {
    const page = await browser.newPage();
    let isDown = true;
    const asksForNotes = (route: Route) => route.request().postData()?.includes('query Notes(') ?? false;
    await page.route('**/graphql', (route) =>
      isDown && asksForNotes(route) ? route.abort() : route.continue(),
    );
    await page.goto(addressOf(server));
    await signIn(page);
    const again = page.locator('#notes').getByRole('button', { name: 'Try again' });
    await again.waitFor();
    await addNote(page, 'While they failed');
    await expect.poll(() => page.getByLabel('Title').inputValue()).toBe('');
    await again.waitFor();
    isDown = false;
    await again.click();
    await expect.poll(async () => (await rows(page, 'notes'))[0]).toBe('While they failed');
    expect(await page.getByRole('alert').count()).toBe(0);

    // The first answer comes last.
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    let isHeld = false;
    await page.route('**/graphql', async (route) => {
      if (isHeld || !asksForNotes(route)) return route.fallback();
      const response = await route.fetch();
      isHeld = true;
      await held;
      return route.fulfill({ response });
    });
    await page.reload();
    await expect.poll(() => isHeld).toBe(true);
    await addNote(page, 'While they were slow');
    await expect.poll(async () => (await rows(page, 'notes'))[0]).toBe('While they were slow');
    const late = page.waitForResponse(
      (response) => response.request().postData()?.includes('query Notes(') ?? false,
    );
    release();
    await late;
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)));
    expect((await rows(page, 'notes'))[0]).toBe('While they were slow');
  },
);
