import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, inject, onTestFinished } from 'vitest';
import { readConfig, type GatewayConfig } from '../../src/config/config.js';
import type { Environment } from '../../src/config/environment.js';
import { startGateway, type Gateway } from '../../src/gateway.js';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { collectFaults, launchBrowser, resetPage, resetWindow } from '../support/browser.js';
import { testWriter } from '../support/database.js';
import { demo } from '../support/testbed.js';
import { other } from './console.js';

/** The explorer, with nobody signed in and nothing stored when a test begins. */
export interface Explorer {
  /** Loads the explorer anew for each test of a suite. */
  loadEach(): void;
  /** Leaves it to the tests of a suite to load it: each begins with a page that has only its origin. */
  loadNone(): void;
  /** Loads the explorer once for all tests of a suite, which may leave a dialog open, and change the window. */
  loadOnce(): void;
  readonly page: Page;
  readonly browser: Browser;
  readonly gateway: Gateway;
  readonly sandbox: Sandbox;
  /** What must not happen: requests to other hosts, errors, and console messages such as policy violations. */
  readonly faults: readonly string[];
  /** Takes another page for the rest of the test, which may change that page for good; it is not loaded. */
  takeOwnPage(): Promise<void>;
  /** Loads the explorer. */
  load(): Promise<void>;
  button(name: string): Locator;
  /** Opens the tab of a sample. */
  open(tab: string): Promise<void>;
  run(): Promise<void>;
  /** Replaces the operation in the editor. */
  replace(operation: string): Promise<void>;
  /** Replaces it, and runs it. */
  replaceAndRun(operation: string): Promise<void>;
  /** The text of the answer with white space collapsed: the editor wraps its lines, and uses no-break spaces. */
  answer(): Promise<string>;
  /** Submits the sign-in form, by default for the demo user, without waiting for the outcome. */
  signIn(person?: typeof demo): Promise<void>;
  /** Signs in the demo user as another window would, and waits until the page shows it. */
  signedIn(): Promise<void>;
  /** Signs in the demo user as another window would, of which the page is not told. */
  signInElsewhere(): Promise<unknown>;
  /** Ends the session as another page would. */
  signOutElsewhere(): Promise<unknown>;
}

/** Options to poll for what takes a moment in a browser. */
export const soon = { timeout: 60_000, interval: 200 };

/** High enough for every line of an answer: the editor renders only visible lines. */
const viewport = { width: 1280, height: 1200 };

/** Starts a gateway and a browser for the tests of a suite. */
export function useExplorer(): Explorer {
  let sandbox: Sandbox;
  let gateway: Gateway;
  let browser: Browser;
  /** One for all tests: a page keeps the compiled code of its scripts, half of what a start takes. */
  let shared: Page;
  let page: Page;
  const faults: string[] = [];

  beforeAll(async () => {
    sandbox = await startSandbox();
    sandbox.notes.addUser(other);
    gateway = await startGateway(configure(sandbox), { writer: testWriter() });
    sandbox.deliverTo(gateway.url);
    browser = await launchBrowser();
    shared = await openPage();
  });

  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
    await sandbox?.stop();
  });

  async function openPage(): Promise<Page> {
    const opened = await browser.newPage({ viewport });
    opened.setDefaultTimeout(60_000);
    collectFaults(opened, gateway.url, faults);
    return opened;
  }

  async function begin(): Promise<void> {
    page = shared;
    await resetPage(shared, gateway.url, viewport);
    faults.length = 0;
  }

  async function load(): Promise<void> {
    await page.goto(`${gateway.url}/graphql`);
    await awaitEditor(page);
  }

  const beginLoaded = () => begin().then(load);

  /** Sends an operation as another page with the same cookies would. */
  const askElsewhere = (query: string) =>
    page.request.post(`${gateway.url}/graphql`, { headers: { origin: gateway.url }, data: { query } });

  const signInElsewhere = () =>
    askElsewhere(
      `mutation { signIn(input: { email: "${demo.email}", password: "${demo.password}" }) { viewer { id } } }`,
    );

  const button = (name: string) => page.getByRole('button', { name });
  const run = () => page.getByLabel('Execute query').click();

  async function replace(operation: string): Promise<void> {
    await page.locator('.graphiql-query-editor .monaco-editor').click();
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.insertText(operation);
  }

  async function signIn({ email, password } = demo): Promise<void> {
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill(password);
    await button('Sign in').click();
  }

  return {
    loadEach: () => beforeEach(beginLoaded),
    loadNone: () => beforeEach(begin),
    loadOnce() {
      beforeAll(beginLoaded);
      beforeEach(async () => {
        await page.keyboard.press('Escape');
        await resetWindow(page, viewport);
      });
    },
    get page() {
      return page;
    },
    get browser() {
      return browser;
    },
    get gateway() {
      return gateway;
    },
    get sandbox() {
      return sandbox;
    },
    get faults() {
      return faults;
    },
    async takeOwnPage() {
      const own = await openPage();
      onTestFinished(() => own.close());
      page = own;
    },
    load,
    button,
    open: (tab) => page.getByRole('tab', { name: tab, exact: true }).click(),
    run,
    replace,
    async replaceAndRun(operation) {
      await replace(operation);
      await run();
    },
    answer: async () => (await page.locator('.result-window').innerText()).replaceAll(/\s+/g, ' '),
    signIn,
    async signedIn() {
      await signInElsewhere();
      await announceFromAnotherWindow(page);
      await button('Sign out').waitFor();
    },
    signInElsewhere,
    signOutElsewhere: () => askElsewhere('mutation { signOut { signedOut } }'),
  };
}

/** Waits until the editor of a page shows an operation: it appears without one, and could only run nothing. */
export async function awaitEditor(page: Page): Promise<void> {
  await page.locator('.graphiql-query-editor .view-line').filter({ hasText: /\S/ }).first().waitFor();
}

/** Waits until a page has shown what has arrived: it gets something that comes after that, and draws two frames. */
export async function awaitDisplay(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await fetch('/livez');
    const frame = () => new Promise((resolve) => void requestAnimationFrame(resolve));
    await frame();
    await frame();
  });
}

/** Tells a page, as the browser would, that the network is back. */
export async function announceNetwork(page: Page): Promise<void> {
  await page.evaluate(() => dispatchEvent(new Event('online')));
}

/** Tells a page, as another window would, that somebody signed in or out there. */
export async function announceFromAnotherWindow(page: Page): Promise<void> {
  await page.evaluate(() => new BroadcastChannel(`trivium ${location.origin}`).postMessage('signed-in'));
}

/** The settings of a gateway beside this sandbox. */
export function configure(sandbox: Sandbox, more: Environment = {}): GatewayConfig {
  const environment = {
    ...sandbox.settings,
    PORT: '0',
    DATABASE_URL: `sqlite:${join(mkdtempSync(join(inject('testDirectory'), 'explorer-')), 'gateway.db')}`,
    GRANTS: '{"demo@example.com":["appointments:write","shipments:read","payments:read"]}',
    LOG_LEVEL: 'silent',
    ...more,
  };
  const { upstreams, ...rest } = readConfig(environment, () => '');
  if (upstreams === null) throw new Error('The sandbox gave no settings.');
  return { ...rest, upstreams };
}
