import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, inject } from 'vitest';
import { readConfig, type GatewayConfig } from '../../src/config/config.js';
import type { Environment } from '../../src/config/environment.js';
import { startGateway, type Gateway } from '../../src/gateway.js';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { launchBrowser } from '../support/browser.js';
import { testWriter } from '../support/database.js';
import { buildPages } from '../support/pages.js';

interface Person {
  readonly email: string;
  readonly password: string;
}

/** The demo user. */
export const demo: Person = { email: 'demo@example.com', password: 'demo-password' };
/** Another user, who has no notes. */
export const other: Person = { email: 'other@example.com', password: 'other' };

/** The explorer, opened anew for each test, with nobody signed in. */
export interface Explorer {
  readonly page: Page;
  readonly browser: Browser;
  readonly gateway: Gateway;
  readonly sandbox: Sandbox;
  /** What must not happen: requests to other hosts, errors, and console messages such as policy violations. */
  readonly faults: readonly string[];
  button(name: string): Locator;
  /** Opens the tab of a sample. */
  open(tab: string): Promise<void>;
  run(): Promise<void>;
  /** Replaces the operation in the editor, and runs it. */
  replaceAndRun(operation: string): Promise<void>;
  /** The text of the answer with white space collapsed: the editor wraps its lines, and uses no-break spaces. */
  answer(): Promise<string>;
  /** Submits the sign-in form, by default for the demo user, without waiting for the outcome. */
  signIn(person?: Person): Promise<void>;
  /** Signs in the demo user, and waits until the page shows it. */
  signedIn(): Promise<void>;
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
  let page: Page;
  let faults: string[];

  beforeAll(async () => {
    await buildPages();
    sandbox = await startSandbox();
    sandbox.notes.addUser({ ...other, name: 'Otto Other' });
    gateway = await startGateway(configure(sandbox), { writer: testWriter() });
    sandbox.deliverTo(gateway.url);
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
    await sandbox?.stop();
  });

  beforeEach(async () => {
    page = await browser.newPage({ viewport });
    page.setDefaultTimeout(60_000);
    faults = faultsOf(page, new URL(gateway.url).host);
    await page.goto(`${gateway.url}/graphql`);
    await awaitEditor(page);
    return () => page.close();
  });

  const button = (name: string) => page.getByRole('button', { name });
  const run = () => page.getByLabel('Execute query').click();

  async function signIn({ email, password }: Person = demo): Promise<void> {
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill(password);
    await button('Sign in').click();
  }

  return {
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
    button,
    open: (tab) => page.getByRole('tab', { name: tab, exact: true }).click(),
    run,
    async replaceAndRun(operation) {
      await page.locator('.graphiql-query-editor .monaco-editor').click();
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.insertText(operation);
      await run();
    },
    answer: async () => (await page.locator('.result-window').innerText()).replaceAll(/\s+/g, ' '),
    signIn,
    async signedIn() {
      await signIn();
      await button('Sign out').waitFor();
    },
    signOutElsewhere: () =>
      page.request.post(`${gateway.url}/graphql`, {
        headers: { origin: gateway.url },
        data: { query: 'mutation { signOut { signedOut } }' },
      }),
  };
}

/** Waits until the editor of a page shows an operation: it appears without one, and could only run nothing. */
export async function awaitEditor(page: Page): Promise<void> {
  await page.locator('.graphiql-query-editor .view-line').filter({ hasText: /\S/ }).first().waitFor();
}

/** Waits longer than a page takes to show what has arrived. */
export const awaitDisplay = (page: Page) => page.waitForTimeout(500);

/** Tells a page, as the browser would, that the network is back. */
export async function announceNetwork(page: Page): Promise<void> {
  await page.evaluate(() => dispatchEvent(new Event('online')));
}

/** Tells a page, as another window would, that somebody signed in or out there. */
export async function announceFromAnotherWindow(page: Page): Promise<void> {
  await page.evaluate(() => new BroadcastChannel(`trivium ${location.origin}`).postMessage(null));
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

/** Collects what goes wrong on a page from now on. */
function faultsOf(page: Page, host: string): string[] {
  const faults: string[] = [];
  const note = (url: string): void => {
    if (/^(https?|wss?):/.test(url) && new URL(url).host !== host) faults.push(`request to ${url}`);
  };
  page.on('request', (request) => note(request.url()));
  page.on('websocket', (socket) => note(socket.url()));
  page.on('pageerror', ({ message }) => faults.push(message));
  page.on('console', (line) => {
    if (['error', 'warning'].includes(line.type())) faults.push(line.text());
  });
  return faults;
}
