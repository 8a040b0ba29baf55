import { randomBytes } from 'node:crypto';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import type { Environment } from '../../src/config/environment.js';
import { launchBrowser } from '../support/browser.js';
import { createTestFile } from '../support/sqlite.js';
import { buildPages } from '../support/pages.js';
import { startTestbed, type Testbed } from '../support/testbed.js';

/** A user whom `GRANTS` does not name. */
export const other = { email: 'other@example.com', password: 'other', name: 'Otto Other' };

/** Options to poll for what takes a moment in a browser. */
export const soon = { timeout: 15_000, interval: 100 };

/** The console of a gateway beside a sandbox, opened anew for each test, with nobody signed in. */
export interface Console {
  readonly page: Page;
  readonly testbed: Testbed;
  /** What must not happen: requests elsewhere, errors, and console messages such as policy violations. */
  readonly faults: readonly string[];
  /** Opens an address of the console, signing in the demo user where that is needed. */
  open(hash: string): Promise<void>;
  /** Opens another page with these options. */
  reopen(options: BrowserContextOptions): Promise<void>;
  signIn(email: string, password: string): Promise<void>;
  button(name: string | RegExp): Locator;
  /** Fails if axe finds anything on the page as it is. */
  expectAccessible(): Promise<void>;
}

/** Fills the database at an address before the gateway starts on it. */
type Fill = (databaseUrl: string) => Promise<void>;

/** Starts a gateway with these settings, and a browser, for the tests of a suite. */
export function useConsole(settings: Environment = {}, fill?: Fill): Console {
  let testbed: Testbed;
  let browser: Browser;
  let page: Page;
  let faults: string[] = [];

  beforeAll(async () => {
    await buildPages();
    const filled = fill && {
      DATABASE_URL: await createTestFile(),
      SECRET_KEYS: randomBytes(32).toString('base64'),
    };
    if (filled) await fill(filled.DATABASE_URL);
    testbed = await startTestbed({ settings: { ...settings, ...filled } });
    testbed.sandbox.notes.addUser(other);
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await testbed?.stop();
  });
  beforeEach(async () => {
    await openPage({ viewport: { width: 1280, height: 900 } });
    return () => page.context().close();
  });

  async function openPage(options: BrowserContextOptions): Promise<void> {
    const context = await browser.newContext(options);
    page = await context.newPage();
    page.setDefaultTimeout(60_000);
    faults = faultsOf(page, testbed.url);
  }
  const button = (name: string | RegExp) => page.getByRole('button', { name });

  async function signIn(email: string, password: string): Promise<void> {
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  }

  return {
    get page() {
      return page;
    },
    get testbed() {
      return testbed;
    },
    get faults() {
      return faults;
    },
    button,
    signIn,
    async open(hash) {
      await page.goto(`${testbed.url}/${hash}`);
      await page
        .getByText(/Continue as Dana|Sign out/)
        .first()
        .waitFor();
      if (await button(/Continue as Dana/).isVisible()) await button(/Continue as Dana/).click();
      await button('Sign out').waitFor();
    },
    async reopen(options) {
      await page.context().close();
      await openPage(options);
    },
    async expectAccessible() {
      // Without a frame in the page, there is nothing to put together on another page.
      const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
      expect(violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => html) }))).toEqual([]);
    },
  };
}

/** Collects what goes wrong on a page from now on; what the browser says of a failed request is the test's affair. */
function faultsOf(page: Page, url: string): string[] {
  const found: string[] = [];
  const { host } = new URL(url);
  const note = (address: string): void => {
    if (/^(https?|wss?):/.test(address) && new URL(address).host !== host)
      found.push(`request to ${address}`);
  };
  page.on('request', (request) => note(request.url()));
  page.on('websocket', (socket) => note(socket.url()));
  page.on('pageerror', ({ message }) => found.push(message));
  page.on('console', (line) => {
    if (['error', 'warning'].includes(line.type()) && !/Failed to load resource|WebSocket/.test(line.text()))
      found.push(line.text());
  });
  return found;
}
