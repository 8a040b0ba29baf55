import { randomBytes } from 'node:crypto';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { openProxy, type Proxy } from '../client/proxy.js';
import { launchBrowser, skipBrowserTests } from '../support/browser.js';
import { noPostgres } from '../support/engines.js';
import { createTestDatabase } from '../support/postgres.js';
import { freePort } from '../support/postgres-server.js';
import { startGatewayProcess, type GatewayProcess } from '../support/process.js';
import { allGrants, demo } from '../support/testbed.js';
import { other, soon } from './console.js';

/** A view in a tab of its own, with two addresses that it has something to ask for, and what it shows at both. */
interface View {
  readonly at: readonly [string, string];
  readonly shows: string | RegExp;
  /** What is typed before the fault, by its field's label. */
  readonly typed?: readonly [label: string, text: string];
  /** It has nothing to ask for. */
  readonly isQuiet?: true;
}

type Act = () => Promise<unknown>;

const views: readonly View[] = [
  { at: ['#/live', '#/live?'], shows: 'Newest events', isQuiet: true },
  { at: ['#/shipments', '#/shipments?stage=CREATED'], shows: 'shp_one' },
  { at: ['#/shipments/shp_one', '#/shipments/shp_two'], shows: '1 event' },
  { at: ['#/payments', '#/payments?mode=live'], shows: 'pay_one' },
  { at: ['#/payments/pay_one', '#/payments/pay_two'], shows: '1 event' },
  { at: ['#/notes', '#/notes?pinned=yes'], shows: 'Kept in view' },
  { at: ['#/notes/new', '#/notes/new?pinned=yes'], shows: 'New note', typed: ['Text', 'not yet saved'] },
  {
    at: ['#/notes/ID', '#/notes/ID?pinned=no'],
    shows: 'Delete this note',
    typed: ['Title', 'changed, not yet saved'],
  },
  { at: ['#/appointments', '#/appointments?week=2026-01-05'], shows: /^Week of/ },
  {
    at: ['#/appointments/new', '#/appointments/new?week=2026-01-05'],
    shows: 'Book an appointment',
    typed: ['Participant 1', 'Patient/typed'],
  },
  { at: ['#/webhooks', '#/webhooks?family=SHIPMENTS'], shows: 'shipment.created' },
  {
    at: ['#/webhooks/explain', '#/webhooks/explain?family=SHIPMENTS'],
    shows: 'Why is my request refused?',
    typed: ['Shipping-Signature', 't=1,v1=typed'],
  },
  { at: ['#/gateway', '#/gateway?'], shows: 'Ready, with its database', isQuiet: true },
];

describe.skipIf(skipBrowserTests || noPostgres !== undefined)('each view (needs Chromium, Postgres)', () => {
  let sandbox: Sandbox;
  let database: Proxy;
  let settings: Readonly<Record<string, string>>;
  let gateway: GatewayProcess;
  let browser: Browser;
  let context: BrowserContext;
  let tabs: readonly { readonly view: View; readonly page: Page }[];
  let turn = 0;

  beforeAll(async () => {
    sandbox = await startSandbox();
    sandbox.notes.addUser(other);
    const url = new URL(await createTestDatabase());
    database = await openProxy(url.href);
    url.host = new URL(database.url).host;
    settings = {
      ...sandbox.settings,
      PORT: String(await freePort()),
      DATABASE_URL: url.href,
      SECRET_KEYS: randomBytes(32).toString('base64'),
      GRANTS: JSON.stringify({ [demo.email]: allGrants }),
    };
    gateway = await startGatewayProcess(settings);
    sandbox.deliverTo(gateway.url);
    browser = await launchBrowser();
    // Not to draw what moves in many tabs; nor is anything to move for those who want it so.
    context = await browser.newContext({ reducedMotion: 'reduce' });
    context.setDefaultTimeout(60_000);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.end();
    await database?.stop();
    await sandbox?.stop();
  });

  const send = (shipmentId: string) =>
    sandbox.webhooks.emitShipment({ type: 'shipment.created', shipment: { id: shipmentId } });
  const tabOf = (hash: string) => tabs.find(({ view }) => view.at[0] === hash)!.page;

  async function signIn(page: Page): Promise<void> {
    await page.getByLabel('E-mail').fill(demo.email);
    await page.getByLabel('Password').fill(demo.password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  }

  /** Opens all views, each in a tab, and types. */
  async function openAll(): Promise<void> {
    for (const id of ['one', 'two']) {
      await send(`shp_${id}`);
      await sandbox.webhooks.emitPayment({ livemode: true, object: { id: `pay_${id}` } });
    }
    const first = await context.newPage();
    await first.goto(`${gateway.url}/#/notes/new?pinned=yes`);
    await signIn(first);
    await first.getByLabel('Title').fill('Kept in view');
    await first.getByLabel('Text').fill('Words.');
    await first.getByLabel('Pinned (at most').check();
    await first.getByRole('button', { name: 'Create' }).click();
    await first.getByText('Delete this note').waitFor();
    const id = /#\/notes\/(\w+)/.exec(first.url())![1]!;
    await first.close();
    tabs = await Promise.all(
      views.map(async (view) => {
        const page = await context.newPage();
        const at = view.at.map((hash) => hash.replace('ID', id)) as [string, string];
        await page.goto(`${gateway.url}/${at[0]}`);
        if (view.typed) await page.getByLabel(view.typed[0], { exact: true }).fill(view.typed[1]);
        return { view: { ...view, at }, page };
      }),
    );
  }

  const shown = ({ view, page }: (typeof tabs)[number]): Locator =>
    page.locator('main').getByText(view.shows).first();

  /** Asks each view for something else. */
  async function ask(): Promise<void> {
    turn += 1;
    await Promise.all(
      tabs.map(({ view, page }) =>
        page.evaluate((hash) => void (location.hash = hash), view.at[turn % 2 === 0 ? 0 : 1]),
      ),
    );
  }

  /** Fails unless all views show what they should, what was typed is still there, and what happens now arrives. */
  async function expectAllWell(mark: string): Promise<void> {
    await expect.poll(async () => (await send(`shp_${mark}`)).state, soon).toBe('acknowledged');
    await Promise.all(
      tabs.map(async (tab) => {
        await shown(tab).waitFor();
        await tab.page.locator('main .problem').waitFor({ state: 'detached' });
      }),
    );
    const forms = tabs.flatMap(({ view: { typed }, page }) => (typed ? [{ typed, page }] : []));
    for (const { typed, page } of forms)
      expect(await page.getByLabel(typed[0], { exact: true }).inputValue()).toBe(typed[1]);
    for (const hash of ['#/live', '#/shipments'])
      await tabOf(hash)
        .getByRole('link', { name: `shp_${mark}` })
        .first()
        .waitFor();
    const deliveries = tabOf('#/webhooks').locator('main .row');
    await expect.poll(() => deliveries.count(), soon).toBeGreaterThan(0);
  }

  const problems = async () => {
    const asking = tabs.filter(({ view }) => !view.isQuiet && !/new|explain|ID/.test(view.at[0]));
    const counts = await Promise.all(asking.map(({ page }) => page.locator('main .problem').count()));
    return counts.filter((count) => count > 0).length;
  };

  test('shows what it should', async () => {
    await openAll();
    await expectAllWell('begun');
    expect(await problems()).toBe(0);
  });

  const passing: readonly (readonly [string, number, begin: Act, end: Act])[] = [
    [
      'the gateway was killed and started again',
      7,
      () => gateway.end('SIGKILL'),
      async () => void (gateway = await startGatewayProcess(settings)),
    ],
    [
      'the database was down',
      6,
      async () => {
        database.shut(true);
        database.cut();
      },
      async () => database.shut(false),
    ],
    [
      'the notes service failed',
      1,
      async () => sandbox.faults.add({ service: 'notes', act: { kind: 'answer', status: 500 } }),
      async () => sandbox.faults.clear(),
    ],
    ['the network was away', 7, () => context.setOffline(true), () => context.setOffline(false)],
  ];

  test.each(passing)('goes on after %s, with what was typed', async (fault, failing, begin, end) => {
    await begin();
    await ask();
    await expect.poll(problems, soon).toBeGreaterThanOrEqual(failing);
    await end();
    await expectAllWell(fault.replaceAll(' ', '_'));
  });

  test('goes on after the session ended, once its user has signed in again in one of the tabs', async () => {
    sandbox.notes.revokeTokens(demo.email);
    await ask();
    await Promise.all(tabs.map(({ page }) => page.getByRole('dialog').waitFor()));
    const { page } = tabs[0]!;
    await page.getByLabel('Password').fill(demo.password);
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in', exact: true }).click();
    await Promise.all(tabs.map((tab) => tab.page.getByRole('dialog').waitFor({ state: 'detached' })));
    await expectAllWell('again');
    expect(await problems()).toBe(0);
  });

  test('leads a person from a shipment over a killed gateway to a refused delivery, a new secret, a booking and a share', async () => {
    for (const { page } of tabs) await page.close();
    const page = await context.newPage();
    const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
    await page.goto(`${gateway.url}/#/live`);
    await button('Sign out').click();
    await signIn(page);
    await page.getByRole('link', { name: 'Shipments' }).click();
    const id = `shp_walk_${randomBytes(4).toString('hex')}`;
    expect((await send(id)).state).toBe('acknowledged');
    await page.getByRole('link', { name: id }).click();
    await page.getByText('1 event', { exact: true }).waitFor();
    await gateway.end('SIGKILL');
    await page.getByText('Reconnecting …').first().waitFor();
    await expect.poll(() => page.evaluate(() => document.getAnimations().length), soon).toBe(0);
    gateway = await startGatewayProcess(settings);
    const moved = { type: 'shipment.delivered', shipment: { id } };
    expect((await sandbox.webhooks.emitShipment(moved)).state).toBe('acknowledged');
    await page.getByText('2 events', { exact: true }).waitFor();

    await sandbox.webhooks.emitShipment({ shipment: { id }, signature: 'old' });
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.locator('.row').filter({ hasText: 'Refused' }).first().click();
    await page.locator('.notice').getByText('It was signed 3600 s ago').waitFor();
    await page.getByRole('link', { name: 'Endpoints' }).click();
    await button('Rotate the secret').click();
    await button('Yes, rotate it now').click();
    await page.getByText('The new secret is in use.').waitFor();
    expect((await sandbox.webhooks.emitPayment({ object: { id: 'pay_walk' } })).state).toBe('acknowledged');

    await page.getByRole('link', { name: 'Appointments' }).click();
    await page.getByRole('link', { name: 'Book' }).click();
    await page.getByLabel('Participant 1').fill('Patient/walk');
    await button('Book').click();
    await page.getByRole('heading', { name: 'Patient/walk' }).waitFor();
    await page.getByRole('link', { name: 'Notes' }).click();
    await page.getByRole('link', { name: /Kept in view/ }).click();
    await page.getByLabel('With (e-mail)').fill(other.email);
    await button('Share').click();
    await page.getByText(`Shared with ${other.email}.`).waitFor();
  });
});
