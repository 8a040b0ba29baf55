import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, inject } from 'vitest';
import { readConfig, type GatewayConfig } from '../../src/config.js';
import { startGateway, type Gateway } from '../../src/gateway.js';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { launchBrowser } from '../support/browser.js';
import { buildPages } from '../support/pages.js';

interface Person {
  readonly email: string;
  readonly password: string;
}

/** The demo user. */
export const demo: Person = { email: 'demo@example.com', password: 'demo-password' };
/** Another, who has no notes. */
export const other: Person = { email: 'other@example.com', password: 'other' };

/** The explorer as a test meets it: opened anew for each, with nobody signed in. */
export interface Explorer {
  readonly page: Page;
  readonly browser: Browser;
  readonly gateway: Gateway;
  readonly sandbox: Sandbox;
  /** What must not be: requests to other hosts, errors and violations of the policy, which the console tells. */
  readonly faults: readonly string[];
  button(name: string): Locator;
  /** Opens the tab of a sample. */
  open(tab: string): Promise<void>;
  run(): Promise<void>;
  /** Puts an operation in the place of the one in the editor, and runs it. */
  runInstead(operation: string): Promise<void>;
  /** The text of the answer; the editor breaks its lines and writes its blanks as no-break spaces. */
  answer(): Promise<string>;
  /** Signs in by the form, as the demo user where nobody is given, without waiting for what comes of it. */
  signIn(person?: Person): Promise<void>;
  /** Ends the session as another page would. */
  signOutElsewhere(): Promise<unknown>;
}

/** For what takes a moment in a browser. */
export const soon = { timeout: 10_000, interval: 200 };

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
    gateway = await startGateway(configure(sandbox));
    sandbox.deliverTo(gateway.url);
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
    await sandbox?.stop();
  });

  beforeEach(async () => {
    // High enough for every line of an answer: the editor draws only those in sight.
    page = await browser.newPage({ viewport: { width: 1280, height: 1200 } });
    page.setDefaultTimeout(10_000);
    faults = faultsOf(page, new URL(gateway.url).host);
    await page.goto(`${gateway.url}/graphql`);
    await awaitEditor(page);
    return () => page.close();
  });

  const button = (name: string) => page.getByRole('button', { name });
  const run = () => page.getByLabel('Execute query').click();

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
    async runInstead(operation) {
      await page.locator('.graphiql-query-editor .monaco-editor').click();
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.insertText(operation);
      await run();
    },
    answer: async () => (await page.locator('.result-window').innerText()).replaceAll(/\s+/g, ' '),
    async signIn({ email, password } = demo) {
      await page.getByLabel('E-mail').fill(email);
      await page.getByLabel('Password').fill(password);
      await button('Sign in').click();
    },
    signOutElsewhere: () =>
      page.request.post(`${gateway.url}/graphql`, {
        headers: { origin: gateway.url },
        data: { query: 'mutation { signOut { signedOut } }' },
      }),
  };
}

/** Waits for the editor of a page, without which nothing can be run there. */
export async function awaitEditor(page: Page): Promise<void> {
  await page.locator('.graphiql-query-editor .view-line').first().waitFor();
}

/** Says to a page, as another window does, that somebody signed in or out there. */
export async function tellOfAnotherWindow(page: Page): Promise<void> {
  await page.evaluate(() => new BroadcastChannel('trivium-session').postMessage(null));
}

function configure(sandbox: Sandbox): GatewayConfig {
  const environment = {
    ...sandbox.settings,
    PORT: '0',
    DATABASE_URL: `sqlite:${join(mkdtempSync(join(inject('testDirectory'), 'explorer-')), 'gateway.db')}`,
    GRANTS: '{"demo@example.com":["appointments:write","shipments:read","payments:read"]}',
    // The page needs none: it has the schema from where that is public.
    INTROSPECTION: 'off',
    LOG_LEVEL: 'silent',
  };
  const { upstreams, ...rest } = readConfig(environment, () => '');
  if (upstreams === null) throw new Error('The sandbox gave no settings.');
  return { ...rest, upstreams };
}

/** What goes wrong on a page from now on. */
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
