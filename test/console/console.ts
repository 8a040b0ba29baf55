import { randomBytes } from 'node:crypto';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished } from 'vitest';
import type { Environment } from '../../src/config/environment.js';
import { collectFaults, launchBrowser, resetPage } from '../support/browser.js';
import { createTestFile } from '../support/sqlite.js';
import { startTestbed, type Testbed } from '../support/testbed.js';

/** A user whom `GRANTS` does not name. */
export const other = { email: 'other@example.com', password: 'other', name: 'Otto Other' };

/** Options to poll for what takes a moment in a browser. */
export const soon = { timeout: 60_000, interval: 100 };

/** The console of a gateway beside a sandbox. A test begins with a page that has only its origin, and nobody signed in. */
export interface Console {
  readonly page: Page;
  readonly testbed: Testbed;
  /** What must not happen: requests elsewhere, errors, and console messages such as policy violations. */
  readonly faults: readonly string[];
  /** Opens an address of the console, signing in the demo user where that is needed. */
  open(hash: string): Promise<void>;
  /** Takes another page for the rest of the test, which may change that page for good; with options, as in another browser. */
  takeOwnPage(options?: BrowserContextOptions): Promise<void>;
  signIn(email: string, password: string): Promise<void>;
  button(name: string | RegExp): Locator;
  /** Fails if axe finds anything on the page as it is. */
  expectAccessible(): Promise<void>;
  /** The page and its parts that scroll by themselves, as far as they can be scrolled sideways. */
  tooWide(): Promise<readonly string[]>;
}

const viewport = { width: 1280, height: 900 };

/** Fills the database at an address before the gateway starts on it. */
type Fill = (databaseUrl: string) => Promise<void>;

/** Starts a gateway with these settings, and a browser, for the tests of a suite. */
export function useConsole(settings: Environment = {}, fill?: Fill): Console {
  let testbed: Testbed;
  let browser: Browser;
  /** One for all tests: it keeps the compiled code of its scripts, half of what it takes to open the console. */
  let shared: Page;
  let page: Page;
  const faults: string[] = [];

  beforeAll(async () => {
    const filled = fill && {
      DATABASE_URL: await createTestFile(),
      SECRET_KEYS: randomBytes(32).toString('base64'),
    };
    if (filled) await fill(filled.DATABASE_URL);
    testbed = await startTestbed({ settings: { ...settings, ...filled } });
    testbed.sandbox.notes.addUser(other);
    browser = await launchBrowser();
    shared = await openPage(await browser.newContext({ viewport }));
  });
  afterAll(async () => {
    await browser?.close();
    await testbed?.stop();
  });
  beforeEach(async () => {
    page = shared;
    await resetPage(page, testbed.url, viewport);
    faults.length = 0;
  });

  async function openPage(context: BrowserContext): Promise<Page> {
    const opened = await context.newPage();
    opened.setDefaultTimeout(60_000);
    // What the browser says of a failed request is the test's affair.
    collectFaults(opened, testbed.url, faults, /Failed to load resource|WebSocket/);
    return opened;
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
    async takeOwnPage(options) {
      const context = options ? await browser.newContext(options) : shared.context();
      const own = await openPage(context);
      onTestFinished(() => (options ? context.close() : own.close()));
      page = own;
    },
    async expectAccessible() {
      // Without a frame in the page, there is nothing to put together on another page.
      const axe = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ['violations'] });
      const { violations } = await axe.analyze();
      expect(violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => html) }))).toEqual([]);
    },
    tooWide: () =>
      page
        .locator('html, main, .view, .split-detail, .virtual, .week-box')
        .evaluateAll((parts) =>
          parts
            .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
            .map((part) => part.getAttribute('class') ?? part.tagName),
        ),
  };
}
