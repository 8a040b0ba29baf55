import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { readConfig, type GatewayConfig } from '../../src/config.js';
import { startGateway, type Gateway } from '../../src/gateway.js';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { launchBrowser, skipBrowserTests } from '../support/browser.js';
import { buildPages } from '../support/pages.js';

function configure(sandbox: Sandbox): GatewayConfig {
  const environment = {
    ...sandbox.settings,
    PORT: '0',
    DATABASE_URL: `sqlite:${join(mkdtempSync(join(inject('testDirectory'), 'explorer-')), 'gateway.db')}`,
    GRANTS: '{"demo@example.com":["appointments:write","shipments:read","payments:read"]}',
    LOG_LEVEL: 'silent',
  };
  const { upstreams, ...rest } = readConfig(environment, () => '');
  if (upstreams === null) throw new Error('The sandbox gave no settings.');
  return { ...rest, upstreams };
}

describe.skipIf(skipBrowserTests)('the explorer (needs Chromium)', () => {
  let sandbox: Sandbox;
  let gateway: Gateway;
  let browser: Browser;
  let page: Page;
  /** What must not be: requests to other hosts, errors and violations of the policy, which the console tells. */
  let faults: string[];

  beforeAll(async () => {
    await buildPages();
    sandbox = await startSandbox();
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
    faults = [];
    // High enough for every line of an answer: the editor draws only those in sight.
    page = await browser.newPage({ viewport: { width: 1280, height: 1200 } });
    page.setDefaultTimeout(10_000);
    const { host } = new URL(gateway.url);
    const note = (url: string): void => {
      if (/^(https?|wss?):/.test(url) && new URL(url).host !== host) faults.push(`request to ${url}`);
    };
    page.on('request', (request) => note(request.url()));
    page.on('websocket', (socket) => note(socket.url()));
    page.on('pageerror', ({ message }) => faults.push(message));
    page.on('console', (line) => {
      if (['error', 'warning'].includes(line.type())) faults.push(line.text());
    });
    await page.goto(`${gateway.url}/graphql`);
    await page.locator('.graphiql-query-editor .view-line').first().waitFor();
    return () => page.close();
  });

  const open = (tab: string) => page.getByRole('tab', { name: tab, exact: true }).click();
  const run = () => page.getByLabel('Execute query').click();
  const button = (name: string) => page.getByRole('button', { name });
  /** The text of the answer; the editor breaks its lines and writes its blanks as no-break spaces. */
  const answer = async () => (await page.locator('.result-window').innerText()).replaceAll(/\s+/g, ' ');
  const soon = { timeout: 10_000, interval: 200 };

  async function signIn(password = 'demo-password'): Promise<void> {
    await page.getByLabel('E-mail').fill('demo@example.com');
    await page.getByLabel('Password').fill(password);
    await button('Sign in').click();
  }

  /** The text of the answer, each time after one more event of a shipment. */
  const answerTo = (id: string) => async () => {
    await sandbox.webhooks.emitShipment({ shipment: { id } });
    return answer();
  };

  test('loads from the gateway alone, within its policy', async () => {
    await page.getByLabel('Show Documentation Explorer').click();
    await page.getByText('Root Types').waitFor();
    expect(await page.title()).toContain('Trivium');
    expect(faults).toEqual([]);
  });

  test('says what is wrong with a sign-in', async () => {
    await signIn('wrong');
    await page.getByRole('alert').filter({ hasText: 'do not belong together' }).waitFor();
    expect(await button('Sign in').isVisible()).toBe(true);
  });

  test('signs in by the bar, shows notes, stays signed in, signs out', async () => {
    await signIn();
    await page.getByText('demo@example.com', { exact: true }).waitFor();
    await run();
    await expect.poll(answer, soon).toMatch(/"nodes": \[ \{ "id": ".+", "title": ".+"/);
    await page.reload();
    await button('Sign out').click();
    await button('Sign in').waitFor();
    await run();
    await expect.poll(answer, soon).toContain('UNAUTHENTICATED');
    expect(faults).toEqual([]);
  });

  test('books an appointment', async () => {
    await signIn();
    await button('Sign out').waitFor();
    await open('BookAppointment');
    await run();
    await expect.poll(answer, soon).toContain('"confirmation": "CONFIRMED"');
  });

  test('shows live updates, and stops', async () => {
    await signIn();
    await button('Sign out').waitFor();
    await open('ShipmentUpdates');
    await run();
    await expect.poll(answerTo('shp_live'), soon).toContain('"shipmentId": "shp_live"');
    await page.getByLabel('Stop query').click();
    await page.getByLabel('Execute query').waitFor();
    expect(faults).toEqual([]);
  });

  test('says why the updates end when the session does, beside the last one', async () => {
    await signIn();
    await button('Sign out').waitFor();
    await open('ShipmentUpdates');
    await run();
    await expect.poll(answerTo('shp_last'), soon).toContain('"shipmentId": "shp_last"');
    await button('Sign out').click();
    await expect.poll(answer, soon).toMatch(/Sign in above.*shp_last/);
  });

  test('says that one must sign in for live updates', async () => {
    await open('ShipmentUpdates');
    await run();
    await expect.poll(answer, soon).toContain('Sign in above');
  });
});
