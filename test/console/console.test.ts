import { readdirSync, statSync } from 'node:fs';
import type { Route } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { skipBrowserTests } from '../support/browser.js';
import { other, soon, useConsole } from './console.js';
import { announceNetwork } from './explorer.js';

/** A message of the protocol `graphql-transport-ws`, as far as it is looked at. */
interface Message {
  readonly type: string;
  readonly id?: string | undefined;
  readonly payload?: { readonly query?: string; readonly errors?: readonly object[] } | undefined;
}

describe.skipIf(skipBrowserTests)('the console (needs Chromium)', () => {
  const ui = useConsole();
  const emit = (id: string, type: string, shipment: object = {}) =>
    ui.testbed.sandbox.webhooks.emitShipment({ type, shipment: { id, ...shipment } });

  test('signs in a demo user with one click, and out again', async () => {
    await ui.page.goto(ui.testbed.url);
    await ui.expectAccessible();
    await ui.open('');
    await ui.button('Sign out').click();
    await ui.button(/Continue as Dana/).waitFor();
    expect(ui.faults).toEqual([]);
  });

  test('has a keyboard go on at the view after a sign-in, and at the form after a sign-out', async () => {
    const tabbed = async () => {
      await ui.page.keyboard.press('Tab');
      return ui.page.evaluate(() => document.activeElement?.textContent ?? '');
    };
    await ui.page.goto(ui.testbed.url);
    await ui.signIn('demo@example.com', 'demo-password');
    await ui.button('Sign out').waitFor();
    expect(await tabbed()).toBe('Cut the connection');
    await ui.button('Sign out').press('Enter');
    await ui.page.getByLabel('E-mail').waitFor();
    await tabbed();
    expect(await ui.page.evaluate(() => document.activeElement?.getAttribute('type'))).toBe('email');
  });

  test('says what is wrong with a password', async () => {
    await ui.page.goto(ui.testbed.url);
    await ui.signIn('demo@example.com', 'wrong');
    await expect.poll(() => ui.page.getByRole('alert').innerText(), soon).toMatch(/wrong/i);
    expect(await ui.page.getByLabel('Password').getAttribute('aria-invalid')).toBe('true');
  });

  test('says once how long to wait after too many failed sign-ins', async () => {
    const query =
      'mutation { signIn(input: { email: "else@example.com", password: "no" }) { errors { code } } }';
    for (let failures = 0; failures < 10; failures++)
      await ui.page.request.post(`${ui.testbed.url}/graphql`, { data: { query } });
    await ui.page.goto(ui.testbed.url);
    await ui.signIn('else@example.com', 'no');
    const told = 'Too many failed sign-ins. Try again in 15 minutes.';
    await expect.poll(() => ui.page.getByRole('alert').innerText(), soon).toBe(told);
  });

  test('is served under a policy that allows no inline script or style, and holds no secret', async () => {
    const response = await fetch(ui.testbed.url, { headers: { accept: 'text/html' } });
    const policy = response.headers.get('content-security-policy');
    expect(policy).toContain("script-src 'self'");
    expect(policy).not.toContain('unsafe-inline');
    const page = await response.text();
    expect(page).toContain('demo-password');
    expect(page).not.toMatch(/whsec_|secret/i);
  });

  test('shows events as they come, and catches up on what came while the connection was cut', async () => {
    await ui.open('#/live');
    await expect.poll(() => ui.page.getByRole('status').first().innerText(), soon).toMatch(/^Live/);
    await emit('shp_before', 'shipment.created');
    await ui.page.getByRole('link', { name: 'shp_before' }).waitFor();
    await ui.button('Cut the connection').click();
    for (const id of ['shp_missed_1', 'shp_missed_2', 'shp_missed_3']) await emit(id, 'shipment.created');
    expect(await ui.page.getByRole('link', { name: 'shp_missed_1' }).count()).toBe(0);
    await ui.button('Let it reconnect').click();
    await ui.page.getByRole('link', { name: 'shp_missed_3' }).waitFor();
    await ui.page.getByText('Resumed, caught up on 3 events').first().waitFor();
    expect(await ui.page.getByText('Caught up', { exact: true }).count()).toBe(3);
    const [before, missed] = await Promise.all(
      ['shp_before', 'shp_missed_1'].map((name) => ui.page.getByRole('link', { name }).boundingBox()),
    );
    expect(missed?.x).toBe(before?.x); // in one column
    await ui.expectAccessible();
    expect(ui.faults).toEqual([]);
  });

  test('goes on by websocket, however often none opened while the connection was cut', async () => {
    await ui.takeOwnPage();
    let sockets = 0;
    let streams = 0;
    ui.page.on('websocket', () => (sockets += 1));
    ui.page.on('request', (request) => (streams += Number(request.url().endsWith('/graphql/stream'))));
    await ui.open('#/live');
    const light = () => ui.page.getByRole('status').first().innerText();
    await expect.poll(light, soon).toMatch(/^Live/);
    const before = sockets;
    await ui.button('Cut the connection').click();
    await expect.poll(() => sockets - before, { timeout: 60_000 }).toBeGreaterThanOrEqual(4);
    expect(await light()).toBe('Cut by you');
    await ui.button('Let it reconnect').click();
    await expect.poll(light, soon).toMatch(/^(Live|Resumed)/);
    expect(streams).toBe(0);
  });

  test('a failure stays while it is tried again, and so does the focus on its button', async () => {
    await ui.takeOwnPage();
    let tries = 0;
    await ui.page.route('**/graphql', (route) => {
      if (!route.request().postData()?.includes('query Shipments(')) return route.fallback();
      tries += 1;
      return route.abort();
    });
    await ui.open('#/shipments');
    const again = ui.button('Try again');
    await again.focus();
    const alert = await ui.page.getByRole('alert').elementHandle();
    const before = tries;
    await expect.poll(() => tries - before, soon).toBeGreaterThan(1);
    expect(await again.evaluate((button) => button === document.activeElement)).toBe(true);
    expect(await alert?.evaluate((shown) => shown.isConnected)).toBe(true);
    await ui.page.unroute('**/graphql');
    await again.click();
    await expect.poll(() => again.count(), soon).toBe(0);
  });

  test('moves a shipment to the top of the list, and shows it as a time line that marks what came out of order', async () => {
    const at = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();
    await emit('shp_early', 'shipment.created');
    await ui.open('#/shipments');
    await ui.page.getByRole('link', { name: /shp_early/ }).waitFor();
    await emit('shp_moving', 'shipment.created', { carrier: 'Pigeon\u202Epost' });
    const first = () => ui.page.getByRole('listitem').filter({ hasText: 'shp_' }).first().innerText();
    await expect.poll(first, soon).toContain('shp_moving');
    expect(await first()).toContain('U+202E');
    await ui.page.getByRole('link', { name: /shp_early/ }).click();
    await ui.page.getByRole('heading', { name: 'shp_early' }).waitFor();
    expect(new URL(ui.page.url()).hash).toBe('#/shipments/shp_early');
    await ui.testbed.sandbox.webhooks.emitShipment({
      type: 'shipment.in_transit',
      created_at: at(3600).replaceAll(/[-:]|\.\d+/g, ''),
      shipment: { id: 'shp_early' },
    });
    await ui.page.getByText('Out of order').waitFor();
    const hasChanged = { hasText: 'shp_early', has: ui.page.locator('.flash') };
    await ui.page.getByRole('listitem').filter(hasChanged).waitFor();
    expect(await first()).toContain('shp_moving');
    await ui.expectAccessible();
    await ui.page.goBack();
    await expect.poll(() => ui.page.getByRole('heading', { name: 'shp_early' }).count(), soon).toBe(0);
    expect(ui.faults).toEqual([]);
  });

  test('filters shipments by what the address says, and so can be shared', async () => {
    await emit('shp_filter_one', 'shipment.delivered');
    await emit('shp_filter_two', 'shipment.created');
    await ui.open('#/shipments?stage=DELIVERED');
    await ui.page.getByRole('link', { name: /shp_filter_one/ }).waitFor();
    expect(await ui.page.getByRole('link', { name: /shp_filter_two/ }).count()).toBe(0);
    await ui.page.getByLabel('Stage').selectOption('Created');
    await ui.page.getByRole('link', { name: /shp_filter_two/ }).waitFor();
    expect(new URL(ui.page.url()).hash).toBe('#/shipments?stage=CREATED');
  });

  test('keeps a filter that is chosen while another is being typed', async () => {
    await ui.open('#/shipments');
    await ui.page.getByLabel('Carrier').fill('ups');
    await ui.page.getByLabel('Stage').selectOption('Created');
    await expect
      .poll(() => new URL(ui.page.url()).hash, soon)
      .toMatch(/^#\/shipments\?(?=.*stage=CREATED)(?=.*carrier=ups)/);
  });

  test('keeps what is typed into a filter as it is, also where typing pauses after a blank', async () => {
    await ui.open('#/shipments');
    const carrier = ui.page.getByLabel('Carrier');
    await carrier.pressSequentially('royal ');
    await expect.poll(() => new URL(ui.page.url()).hash, soon).toBe('#/shipments?carrier=royal');
    await carrier.pressSequentially('mail');
    await expect.poll(() => new URL(ui.page.url()).hash, soon).toBe('#/shipments?carrier=royal+mail');
  });

  test('says why nobody could be signed out', async () => {
    await ui.open('#/live');
    await ui.page.route('**/graphql', (route) => route.abort());
    await ui.button('Sign out').click();
    await expect.poll(() => ui.page.getByRole('alert').innerText(), soon).toMatch(/cannot be reached/);
    await ui.expectAccessible();
    await ui.page.unroute('**/graphql');
    await ui.page.getByRole('link', { name: 'Shipments' }).click();
    await ui.page.getByRole('heading', { name: 'Shipments' }).waitFor();
    expect(await ui.page.getByRole('alert').count()).toBe(0);
  });

  test('moves the focus to the detail that takes the place of its row, and back', async () => {
    await ui.page.setViewportSize({ width: 360, height: 740 });
    await emit('shp_focus', 'shipment.created');
    await ui.open('#/shipments');
    const row = ui.page.getByRole('link', { name: /shp_focus/ });
    await row.press('Enter');
    const focused = (of: string) => ui.page.locator(`${of}:focus`).count();
    await expect.poll(() => focused('.split-detail'), soon).toBe(1);
    await ui.page.getByRole('link', { name: 'Close' }).press('Enter');
    await expect.poll(() => focused('.row'), soon).toBe(1);
    expect(await row.evaluate((element) => element === document.activeElement)).toBe(true);
  });

  test('has a keyboard go on in the detail that it opens beside the list, and back at the row', async () => {
    await emit('shp_keys_1', 'shipment.created');
    await emit('shp_keys_2', 'shipment.created');
    await ui.open('#/shipments');
    const row = (name: string) => ui.page.getByRole('link', { name });
    const focused = (of: string) => ui.page.locator(`${of}:focus`).count();
    const isFocused = (name: string) => row(name).evaluate((element) => element === document.activeElement);
    await row('shp_keys_1').press('Enter');
    await expect.poll(() => focused('.split-detail'), soon).toBe(1);
    await row('shp_keys_2').press('Enter');
    await expect.poll(() => focused('.split-detail'), soon).toBe(1);
    await row('shp_keys_2').press('Enter');
    await expect.poll(() => focused('.split-detail'), soon).toBe(1);
    await ui.page.getByRole('link', { name: 'Close' }).press('Enter');
    await expect.poll(() => isFocused('shp_keys_2'), soon).toBe(true);
    await row('shp_keys_1').click();
    await ui.page.getByRole('heading', { name: 'shp_keys_1' }).waitFor();
    expect(await isFocused('shp_keys_1')).toBe(true);
    await ui.page.getByRole('link', { name: 'Close' }).click();
    const opened = ui.page.context().waitForEvent('page');
    await row('shp_keys_2').press('Control+Enter');
    await (await opened).close();
    await ui.page.goBack();
    await ui.page.getByRole('heading', { name: 'shp_keys_1' }).waitFor();
    expect(await isFocused('shp_keys_2')).toBe(true);
  });

  /** Has the page's websocket pass through `change`, which returns what the page gets instead of a message, or nothing. */
  async function passThrough(change: (message: Message, from: 'page' | 'gateway') => Message | undefined) {
    await ui.takeOwnPage();
    await ui.page.routeWebSocket('**/graphql', (page) => {
      const gateway = page.connectToServer();
      page.onMessage((text) => {
        const answer = change(JSON.parse(String(text)) as Message, 'page');
        if (answer) page.send(JSON.stringify(answer));
        else gateway.send(text);
      });
      gateway.onMessage((text) => {
        const answer = change(JSON.parse(String(text)) as Message, 'gateway');
        page.send(answer ? JSON.stringify(answer) : text);
      });
    });
  }
  const isOfShipments = ({ payload }: Message) => payload?.query?.includes('shipmentUpdates(') ?? false;

  test('begins anew where a place in the log does not count any more', async () => {
    let subscribed = 0;
    const errors = [{ message: 'Other keys.', extensions: { code: 'CURSOR_INVALID' } }];
    await passThrough((message) => {
      if (message.type !== 'subscribe' || !isOfShipments(message)) return undefined;
      return subscribed++ === 0 ? { type: 'next', id: message.id, payload: { errors } } : undefined;
    });
    await ui.open('#/live');
    await expect.poll(() => subscribed, soon).toBe(2);
    await emit('shp_anew', 'shipment.created');
    await ui.page.getByRole('link', { name: 'shp_anew' }).waitFor();
  });

  test('follows shipments once, also after an update with an error', async () => {
    const running = new Set<string | undefined>();
    let subscribed = 0;
    let failed = false;
    const errors = [{ message: 'Not now.', extensions: { code: 'UPSTREAM_UNAVAILABLE' } }];
    await passThrough((message, from) => {
      const { type, id, payload } = message;
      if (from === 'page' && type === 'subscribe' && isOfShipments(message)) {
        running.add(id);
        subscribed++;
      }
      if (type === 'complete') running.delete(id);
      if (from === 'page' || failed || type !== 'next' || !running.has(id)) return undefined;
      failed = true;
      return { type, id, payload: { ...payload, errors } };
    });
    await ui.open('#/live');
    await expect.poll(() => running.size, soon).toBe(1);
    await emit('shp_failing', 'shipment.created');
    await ui.page.getByRole('link', { name: 'shp_failing' }).waitFor();
    expect([subscribed, running.size]).toEqual([2, 1]);
  });

  test('says which grant a view needs, on a phone also to who has a long address', async () => {
    const email = `${'somebody.'.repeat(9)}else@example.com`;
    ui.testbed.sandbox.notes.addUser({ ...other, email });
    await ui.page.setViewportSize({ width: 360, height: 740 });
    await ui.page.goto(ui.testbed.url);
    await ui.signIn(email, other.password);
    await ui.button('Sign out').waitFor();
    for (const [view, grant] of [
      ['#/shipments', 'shipments:read'],
      ['#/payments', 'payments:read'],
    ] as const) {
      await ui.page.goto(`${ui.testbed.url}/${view}`);
      await expect.poll(() => ui.page.getByText(grant, { exact: true }).count(), soon).toBe(1);
      await ui.expectAccessible();
      expect(await ui.tooWide()).toEqual([]);
    }
    await ui.page.goto(`${ui.testbed.url}/#/appointments/new`);
    await ui.page.locator('.split-detail').getByText('appointments:write').waitFor();
  });

  test('says that there is nothing to follow to who follows nothing, whoever did before', async () => {
    await ui.open('#/gateway');
    const light = () => ui.page.locator('.light').innerText();
    await expect.poll(light, soon).toBe('Live');
    await ui.button('Sign out').click();
    await ui.signIn(other.email, other.password);
    await ui.button('Sign out').waitFor();
    await expect.poll(light, soon).toBe('Nothing to follow');
    await ui.button('Sign out').click();
    await ui.button(/Continue as Dana/).click();
    await ui.button('Sign out').waitFor();
    await expect.poll(light, soon).toBe('Live');
  });

  test('goes on after the session ended, with the view as it was', async () => {
    await ui.open('#/shipments');
    await ui.page.getByLabel('Carrier').fill('typed before');
    await expect.poll(() => ui.page.url(), soon).toContain('typed');
    await ui.page.request.post(`${ui.testbed.url}/graphql`, {
      headers: { origin: ui.testbed.url },
      data: { query: 'mutation { signOut { signedOut } }' },
    });
    await ui.page.getByRole('dialog').waitFor();
    // Nobody else: what is typed would be lost.
    expect(await ui.page.getByRole('dialog').getByRole('button').allInnerTexts()).toEqual([
      'Sign in',
      'Continue as Dana Demo',
    ]);
    await ui.expectAccessible();
    for (let presses = 0; presses < 3; presses += 1) await ui.page.keyboard.press('Escape');
    await ui.page.keyboard.type('demo-password');
    await ui.page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await expect.poll(() => ui.page.getByRole('dialog').count(), soon).toBe(0);
    expect(await ui.page.getByLabel('Carrier').inputValue()).toBe('typed before');
    expect(await ui.page.getByLabel('Carrier').evaluate((field) => field === document.activeElement)).toBe(
      true,
    );
  });

  test('opens while the notes service fails, and goes on with what was typed; who is not signed in is asked to sign in', async () => {
    const { faults } = ui.testbed.sandbox;
    await emit('shp_meanwhile', 'shipment.created');
    await ui.open('#/shipments');
    faults.add({ service: 'notes', act: { kind: 'answer', status: 500 } });
    onTestFinished(() => faults.clear());
    await ui.page.reload();
    await ui.page.getByText(/The notes service failed.* Trying again …/).waitFor();
    await ui.page.getByRole('link', { name: /shp_meanwhile/ }).waitFor();
    await emit('shp_still_live', 'shipment.created');
    await ui.page.getByRole('link', { name: /shp_still_live/ }).waitFor();
    await ui.expectAccessible();
    for (const view of ['Live', 'Payments', 'Webhooks', 'This gateway', 'Notes', 'Sandbox']) {
      await ui.page.getByRole('link', { name: view, exact: true }).click();
      await ui.page.getByRole('heading', { name: view, level: 1 }).waitFor();
    }
    await ui.page.getByLabel('Id (a new one').fill('shp_typed');
    await ui.button('End all faults').click();
    await ui.page.getByText('The services work as usual again.').waitFor();
    await ui.page.getByText('Dana Demo').waitFor();
    expect(await ui.page.getByText('Trying again').count()).toBe(0);
    expect(await ui.page.getByLabel('Id (a new one').inputValue()).toBe('shp_typed');
    await ui.button('Sign out').click();
    await ui.button(/Continue as Dana/).waitFor();
    faults.add({ service: 'notes', act: { kind: 'answer', status: 500 } });
    await ui.page.reload();
    await ui.button(/Continue as Dana/).waitFor();
    expect(ui.faults.filter((fault) => !fault.includes('/control/'))).toEqual([]);
  });

  /** Reloads the page; from then on it cannot learn who is signed in, until the returned function is called. */
  async function failViewer() {
    const failing = (route: Route) =>
      route.request().postData()?.includes('query Viewer') ? route.abort() : route.fallback();
    await ui.page.route('**/graphql', failing);
    await ui.page.reload();
    await ui.page.getByText(/cannot be reached.* Trying again …/).waitFor();
    return async () => {
      await ui.page.unroute('**/graphql', failing);
      await announceNetwork(ui.page);
    };
  }

  test('keeps nothing that was typed before another tab signed somebody else in, while it cannot be told who', async () => {
    await ui.open('#/notes/new');
    const restore = await failViewer();
    const text = ui.page.getByLabel('Text');
    await text.fill('Of Dana alone');
    const tab = await ui.page.context().newPage();
    onTestFinished(() => tab.close());
    await tab.goto(`${ui.testbed.url}/graphql`);
    await tab.evaluate(
      async (input) => {
        const query = 'mutation ($input: SignInInput!) { signIn(input: $input) { viewer { id } } }';
        const body = JSON.stringify({ query, variables: { input } });
        await fetch('/graphql', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
        const tabs = new BroadcastChannel(`trivium ${location.origin}`);
        // One who does not succeed in signing out is the same as before.
        for (const change of ['signing-out', 'signed-in']) tabs.postMessage(change);
      },
      { email: other.email, password: other.password },
    );
    await ui.page.waitForTimeout(300);
    expect(await text.inputValue()).toBe('Of Dana alone');
    await tab.evaluate(() => new BroadcastChannel(`trivium ${location.origin}`).postMessage('signed-in'));
    await expect.poll(() => text.inputValue(), soon).toBe('');
    await restore();
    await ui.page.getByText(other.name).waitFor();
    expect(await text.inputValue()).toBe('');
  });

  test('leaves the focus where it is when it becomes known who is signed in, and has it go on at the form after a sign-out before that', async () => {
    await ui.open('#/shipments');
    const restore = await failViewer();
    const carrier = ui.page.getByLabel('Carrier');
    await carrier.focus();
    await restore();
    await ui.page.getByText('Dana Demo').waitFor();
    expect(await carrier.evaluate((field) => field === document.activeElement)).toBe(true);
    await failViewer();
    await ui.button('Sign out').press('Enter');
    await ui.page.getByLabel('E-mail').waitFor();
    await expect.poll(() => ui.page.locator('main:focus').count(), soon).toBe(1);
  });

  test('shows nothing any more to whoever signed out in another tab', async () => {
    await emit('shp_private', 'shipment.created');
    await ui.open('#/shipments');
    await ui.page.getByRole('link', { name: /shp_private/ }).waitFor();
    const tab = await ui.page.context().newPage();
    await tab.goto(ui.testbed.url);
    await tab.getByRole('button', { name: 'Sign out' }).click();
    await ui.button(/Continue as Dana/).waitFor();
    expect(await ui.page.getByText('shp_private').count()).toBe(0);
    expect(await ui.page.getByRole('dialog').count()).toBe(0);
  });

  test('says how many came while the newest events are held still, also where they are more than are kept', async () => {
    await ui.open('#/live');
    await emit('shp_held', 'shipment.created');
    await ui.page.getByRole('link', { name: 'shp_held' }).waitFor();
    await ui.button('Hold still').click();
    const flood = Array.from({ length: 205 }, (_, at) => emit(`shp_flood_${at}`, 'shipment.created'));
    await Promise.all(flood);
    await ui.button('Go on (200 new ones)').click();
    await ui.page
      .getByRole('link', { name: /shp_flood_/ })
      .first()
      .waitFor();
    expect(ui.faults).toEqual([]);
  });

  test('says what to do if its script does not come', async () => {
    await ui.page.route('**/assets/console-*.js', (route) => route.fulfill({ status: 404 }));
    await ui.page.goto(ui.testbed.url);
    const advice = ui.page.getByText('reload the page');
    expect(await advice.isVisible()).toBe(false);
    await ui.page.evaluate(() => document.getAnimations().forEach((animation) => animation.finish()));
    await advice.waitFor();
  });

  test('shows a view that is first opened while the gateway is away, and goes on once it is back', async () => {
    await ui.open('#/live');
    await ui.page.context().setOffline(true);
    await ui.page.getByRole('link', { name: 'This gateway' }).click();
    await ui.page.getByText('Unreachable').waitFor();
    await ui.page.getByRole('link', { name: 'Notes' }).click();
    await ui.page.getByText('The gateway cannot be reached. Trying again by itself').first().waitFor();
    await ui.page.context().setOffline(false);
    await ui.page.locator('.row').first().waitFor();
    expect(ui.faults).toEqual([]);
  });

  test('says that a view cannot be shown, as with the answers of a gateway of another version', async () => {
    await ui.open('#/live');
    await ui.page.route('**/graphql', (route) =>
      route.request().postData()?.includes('query Notes(')
        ? route.fulfill({ json: { data: { notes: { nodes: [{ id: 'without the rest' }], pageInfo: {} } } } })
        : route.fallback(),
    );
    await ui.page.getByRole('link', { name: 'Notes' }).click();
    await ui.page.getByRole('heading', { name: 'This view could not be shown' }).waitFor();
    await ui.expectAccessible();
    await ui.page.getByRole('link', { name: 'Payments' }).click();
    await ui.page.getByRole('heading', { name: 'Payments' }).waitFor();
    await ui.page.getByRole('link', { name: 'Notes' }).click();
    await ui.page.getByRole('heading', { name: 'This view could not be shown' }).waitFor();
    await ui.page.unroute('**/graphql');
    await ui.button('Load the page again').click();
    await ui.page.getByRole('heading', { name: 'Notes' }).waitFor();
    expect(new URL(ui.page.url()).hash).toBe('#/notes');
  });

  test('fits a phone, in the dark', async () => {
    await ui.page.setViewportSize({ width: 360, height: 740 });
    await ui.page.emulateMedia({ colorScheme: 'dark' });
    const { webhooks } = ui.testbed.sandbox;
    const long = 'x'.repeat(250);
    await webhooks.emitShipment({ id: `evt_${long}`, shipment: { id: `shp_${long}`, status: long } });
    await webhooks.emitPayment({ id: `pevt_${long}`, object: { id: `pay_${long}`, status: long } });
    for (const view of ['live', 'shipments', `shipments/shp_${long}`, 'payments', `payments/pay_${long}`]) {
      await ui.open(`#/${view}`);
      if (view.includes('/')) await ui.page.getByText('1 event').waitFor();
      await ui.expectAccessible();
      expect(await ui.tooWide()).toEqual([]);
    }
  });

  test('follows updates by server-sent events where a proxy lets no websocket through, and cuts those, too', async () => {
    await ui.takeOwnPage();
    await ui.page.addInitScript(() => {
      // Asks for an upgrade where there is none: it never opens.
      globalThis.WebSocket = class extends WebSocket {
        constructor(url: string | URL, protocols?: string | string[]) {
          super(String(url).replace('/graphql', '/livez'), protocols);
        }
      };
    });
    const stream = ui.page.waitForRequest((request) => request.url().endsWith('/graphql/stream'));
    await ui.open('#/live');
    await stream;
    const light = () => ui.page.getByRole('status').first().innerText();
    await expect.poll(light, soon).toMatch(/^Live/);
    await emit('shp_streamed', 'shipment.created');
    await ui.page.getByRole('link', { name: 'shp_streamed' }).waitFor();
    await ui.button('Cut the connection').click();
    await expect.poll(light, soon).toBe('Cut by you');
    await emit('shp_streamed_later', 'shipment.created');
    await ui.button('Let it reconnect').click();
    await ui.page.getByRole('link', { name: 'shp_streamed_later' }).waitFor();
    await ui.page.getByText('Resumed, caught up on 1 event').first().waitFor();
  });

  test('shows what happens between its first question and the beginning of its subscription', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await ui.page.route('**/graphql', async (route) => {
      const isPlace = route.request().postData()?.includes('query Place');
      if (isPlace) await held;
      await route.continue();
    });
    await emit('shp_known', 'shipment.created');
    await ui.open('#/shipments');
    await ui.page.getByRole('link', { name: /shp_known/ }).waitFor();
    await emit('shp_between', 'shipment.created');
    release();
    await ui.page.getByRole('link', { name: /shp_between/ }).waitFor();
    expect(await ui.page.getByRole('link', { name: /shp_between/ }).count()).toBe(1);
  });

  test('shows what is told while an older answer is on its way', async () => {
    const heard: string[] = [];
    ui.page.on('websocket', (socket) =>
      socket.on('framereceived', ({ payload }) => {
        if (payload.includes('"shipmentUpdates"')) heard.push(String(payload));
      }),
    );
    await ui.open('#/live');
    await emit('shp_followed', 'shipment.created');
    await expect.poll(() => heard.join(), soon).toContain('shp_followed');
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const asked = new Promise<void>((resolve) => {
      void ui.page.route('**/graphql', async (route) => {
        if (!route.request().postData()?.includes('query Shipments')) return route.fallback();
        const response = await route.fetch();
        resolve();
        await held;
        return route.fulfill({ response });
      });
    });
    await ui.page.getByRole('link', { name: 'Shipments' }).click();
    await asked;
    await emit('shp_told', 'shipment.created');
    await expect.poll(() => heard.join(), soon).toContain('shp_told');
    release();
    await ui.page.getByRole('link', { name: /shp_followed/ }).waitFor();
    expect(await ui.page.getByRole('link', { name: /shp_told/ }).count()).toBe(1);
  });

  test('counts nothing of the last hour before it is read', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    await ui.page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('query RecentShipmentEvents')) await held;
      return route.fallback();
    });
    await ui.open('#/live');
    await ui.page.reload();
    const shipments = ui.page.locator('.legend li', { hasText: 'Shipments' });
    await expect.poll(() => shipments.innerText(), soon).toContain('…');
    expect(await ui.page.getByText('Nothing has come yet').count()).toBe(0);
    release();
    await expect.poll(() => shipments.innerText(), soon).toMatch(/\d/);
    await ui.page.unroute('**/graphql');
  });

  test('plots all that came in the last hour when it is opened, in the colors of the theme, and says it as a table', async () => {
    await ui.open('#/live');
    const total = async (name: string) =>
      Number((await ui.page.locator('.legend li', { hasText: name }).innerText()).split(/\s+/).at(-1));
    await ui.page.getByRole('link', { name: /shp_/ }).first().waitFor();
    await ui.testbed.sandbox.webhooks.emitShipment({ id: 'evt_twice', shipment: { id: 'shp_twice' } });
    await ui.testbed.sandbox.webhooks.emitShipment({ id: 'evt_twice', shipment: { id: 'shp_twice' } });
    await ui.testbed.sandbox.webhooks.emitShipment({ shipment: { id: 'shp_no' }, signature: 'wrong' });
    await ui.page.getByRole('link', { name: 'shp_twice' }).waitFor();
    await ui.page.locator('.legend li', { hasText: 'Refused' }).waitFor();
    const before = await Promise.all(['Shipments', 'Duplicates', 'Refused'].map(total));
    expect(before.slice(1)).toEqual([1, 1]);

    await ui.page.emulateMedia({ colorScheme: 'dark' });
    let hasFailed = false;
    await ui.page.route('**/graphql', (route) => {
      if (hasFailed || !route.request().postData()?.includes('query RecentShipmentEvents'))
        return route.fallback();
      hasFailed = true;
      return route.abort();
    });
    await ui.page.reload();
    await ui.page.locator('.legend li', { hasText: 'Refused' }).waitFor();
    await expect
      .poll(() => Promise.all(['Shipments', 'Duplicates', 'Refused'].map(total)), soon)
      .toEqual(before);
    await ui.page.getByText('As a table').click();
    const shipments = await ui.page.locator('.plot-table td:nth-of-type(1)').allInnerTexts();
    expect(shipments.map(Number).reduce((sum, count) => sum + count, 0)).toBe(before[0]);
    await expect.poll(() => ui.page.evaluate(drawnInTheme), soon).toBe(true);
    await ui.expectAccessible();
  });

  test('loads at most 250 KB of compressed script for the first view', async () => {
    const page = await (await fetch(ui.testbed.url, { headers: { accept: 'text/html' } })).text();
    const scripts = [...page.matchAll(/\/assets\/([\w-]+\.js)/g)].map(([, name]) => name);
    expect(scripts.length).toBeGreaterThan(0);
    expect(readdirSync('dist/console/assets')).toEqual(expect.arrayContaining(scripts));
    const bytes = scripts.map((name) => statSync(`dist/console/assets/${name}.br`).size);
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(250_000);
  });
});

/** Whether the plot has pixels of the color that the theme gives to shipments. */
function drawnInTheme(): boolean {
  const canvas = document.querySelector('canvas')!;
  const dot = document.querySelector('.legend [data-series="shipments"]')!;
  const color = getComputedStyle(dot).backgroundColor.match(/\d+/g)!.slice(0, 3).join();
  const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
  for (let at = 0; at < data.length; at += 4) if (data.subarray(at, at + 3).join() === color) return true;
  return false;
}
