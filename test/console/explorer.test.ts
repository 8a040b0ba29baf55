import { describe, expect, onTestFinished, test } from 'vitest';
import { startGateway } from '../../src/gateway.js';
import { skipBrowserTests } from '../support/browser.js';
import { testWriter } from '../support/database.js';
import { announceNetwork, awaitEditor, configure, soon, useExplorer } from './explorer.js';
import { headersTests } from './headers.js';
import { lateTests } from './late.js';
import { signInTests } from './sign-in.js';
import { windowTests } from './window.js';

describe.skipIf(skipBrowserTests)('the explorer (needs Chromium)', () => {
  const explorer = useExplorer();
  const { answer, button, open, run, replaceAndRun, signIn, signedIn, signInElsewhere, signOutElsewhere } =
    explorer;

  /** Emits an event of the shipment, and returns the text of the answer then. */
  const answerTo = (id: string) => async () => {
    await explorer.sandbox.webhooks.emitShipment({ shipment: { id } });
    return answer();
  };

  describe('once it is loaded', () => {
    explorer.loadEach();

    test('loads from the gateway alone, within its content security policy', async () => {
      await explorer.page.getByLabel('Show Documentation Explorer').click();
      await explorer.page.getByText('Root Types').waitFor();
      expect(await explorer.page.title()).toContain('Trivium');
      expect(explorer.faults).toEqual([]);
    });

    test.each(['as it was', 'with an edited query'])(
      'keeps the open tab for the next visit, %s',
      async (state) => {
        const { page } = explorer;
        const shown = async () => ({
          tabs: await page.getByRole('tab').allInnerTexts(),
          open: await page.getByRole('tab', { selected: true }).innerText(),
          query: await page.locator('.graphiql-query-editor .view-lines').innerText(),
          variables: await page
            .locator('.graphiql-editor-tool .view-lines')
            .filter({ visible: true })
            .innerText(),
        });
        await open('BookAppointment');
        if (state !== 'as it was') await replaceAndRun('query Mine { __typename }');
        const stored = () => page.evaluate(() => localStorage.getItem('graphiql:tabState'));
        await expect.poll(stored, soon).toContain(state === 'as it was' ? '"activeTabIndex":1' : 'Mine');
        const before = await shown();
        expect(before.variables).toContain('participants');
        await page.reload();
        await awaitEditor(page);
        expect(await shown()).toEqual(before);
      },
    );

    test.each(['true', 'false'])(
      'opens with the samples if the stored tabs are unreadable, whether headers are kept or not (%s)',
      async (kept) => {
        const { page } = explorer;
        const tabs = await page.getByRole('tab').allInnerTexts();
        await page.evaluate((keepsHeaders) => {
          localStorage.setItem('graphiql:shouldPersistHeaders', keepsHeaders);
          localStorage.setItem('graphiql:tabState', '{');
        }, kept);
        await page.reload();
        await awaitEditor(page);
        expect(await page.getByRole('tab').allInnerTexts()).toEqual(tabs);
      },
    );

    test('books an appointment', async () => {
      await signedIn();
      await open('BookAppointment');
      await run();
      await expect.poll(answer, soon).toContain('"confirmation": "CONFIRMED"');
    });

    test('shows live updates, and stops', async () => {
      await signedIn();
      await open('ShipmentUpdates');
      await run();
      await expect.poll(answerTo('shp_live'), soon).toContain('"shipmentId": "shp_live"');
      await explorer.page.getByLabel('Stop query').click();
      await explorer.page.getByLabel('Execute query').waitFor();
      expect(explorer.faults).toEqual([]);
    });

    test('lists the last 100 messages of a subscription with their times, for as long as its user is signed in', async () => {
      await signedIn();
      await open('ShipmentUpdates');
      await run();
      await expect.poll(answerTo('shp_first'), soon).toContain('"shipmentId": "shp_first"');
      const emit = (at: number) => explorer.sandbox.webhooks.emitShipment({ shipment: { id: `shp_${at}` } });
      await Promise.all(Array.from({ length: 104 }, (_, at) => emit(at)));
      await emit(104);
      await explorer.page.getByLabel('Show Messages').click();
      const messages = explorer.page.getByRole('region', { name: 'Messages' });
      const latest = messages.getByRole('listitem').first();
      expect(await messages.locator('pre').count()).toBe(0);
      await latest.click();
      await expect.poll(() => latest.innerText(), soon).toContain('"shipmentId": "shp_104"');
      expect(await latest.locator('time').innerText()).toMatch(/^\d\d:\d\d:\d\d\.\d{3}$/);
      expect(await messages.getByRole('listitem').count()).toBe(100);
      await button('Sign out').click();
      await messages.getByText('Run a subscription').waitFor();
      expect(explorer.faults).toEqual([]);
    });

    test('ends the updates when a new tab is opened, and still shows them in their own tab', async () => {
      await signedIn();
      await open('ShipmentUpdates');
      await run();
      await expect.poll(answerTo('shp_own'), soon).toContain('"shipmentId": "shp_own"');
      await explorer.page.getByLabel('New tab').click();
      await explorer.page.getByLabel('Execute query').waitFor();
      expect(await answerTo('shp_other')()).toBe('');
      await open('ShipmentUpdates');
      await expect.poll(answer, soon).toContain('"shipmentId": "shp_own"');
    });

    test('says why updates end when the session ends, next to the last update', async () => {
      await signedIn();
      await open('ShipmentUpdates');
      await run();
      await expect.poll(answerTo('shp_last'), soon).toContain('"shipmentId": "shp_last"');
      await signOutElsewhere();
      await expect.poll(answer, soon).toMatch(/Sign in above.*shp_last/);
      await button('Sign in').waitFor();
    });

    test('says why updates end when the session ends, next to the errors of the last update', async () => {
      await signedIn();
      await open('ShipmentUpdates');
      await replaceAndRun(
        'subscription { shipmentUpdates { event { shipmentId } shipment { events(first: 101) { nodes { id } } } } }',
      );
      await expect.poll(answerTo('shp_wrong'), soon).toContain('BAD_USER_INPUT');
      await signOutElsewhere();
      await expect.poll(answer, soon).toMatch(/Sign in above.*BAD_USER_INPUT/);
    });

    test('says that live updates need a sign-in', async () => {
      await open('ShipmentUpdates');
      await run();
      await expect.poll(answer, soon).toContain('Sign in above');
    });

    test('forgets every answer and ends the updates when the user signs out', async () => {
      await signedIn();
      await run();
      await expect.poll(answer, soon).toContain('"title"');
      await open('ShipmentUpdates');
      await run();
      await expect.poll(answerTo('shp_forgotten'), soon).toContain('"shipmentId": "shp_forgotten"');
      await button('Sign out').click();
      await expect.poll(answer, soon).not.toContain('shp_forgotten');
      await explorer.page.getByLabel('Execute query').waitFor();
      await open('NotesPage');
      await expect.poll(answer, soon).not.toContain('"title"');
      expect(explorer.faults).toEqual([]);
    });
  });

  describe('before it is loaded', () => {
    explorer.loadNone();

    test('opens at an address that is neither https nor loopback', async () => {
      const { page, gateway } = explorer;
      await page.goto(`${gateway.url.replace('127.0.0.1', '0.0.0.0')}/graphql`);
      expect(await page.evaluate(() => isSecureContext)).toBe(false);
      await awaitEditor(page);
    });

    test('says that the schema could not be loaded, and tries again', async () => {
      const { page } = explorer;
      const problem = page.getByRole('alert').filter({ hasText: 'The schema could not be loaded.' });
      await page.route('**/schema.graphql', (route) => route.fulfill({ status: 503 }));
      await page.goto(`${explorer.gateway.url}/graphql`);
      await problem.waitFor();
      await page.unroute('**/schema.graphql');
      await announceNetwork(page);
      await problem.waitFor({ state: 'detached' });
      await page.getByLabel('Show Documentation Explorer').click();
      await expect.poll(() => page.getByText('Root Types').isVisible(), soon).toBe(true);
    });

    test('asks to sign in for a schema that is not shown to strangers, and shows it then', async () => {
      const { page, sandbox } = explorer;
      const gateway = await startGateway(configure(sandbox, { INTROSPECTION: 'off' }), {
        writer: testWriter(),
      });
      onTestFinished(() => gateway.stop());
      await page.goto(`${gateway.url}/graphql`);
      const problem = page.getByRole('alert').filter({ hasText: 'Sign in to see the schema.' });
      await problem.waitFor();
      await signIn();
      await problem.waitFor({ state: 'detached' });
      await page.getByLabel('Show Documentation Explorer').click();
      await expect.poll(() => page.getByText('Root Types').isVisible(), soon).toBe(true);
    });

    test('goes on by itself after the connection has gone dead, and misses nothing', async () => {
      await explorer.takeOwnPage();
      const { page } = explorer;
      let isMute = false;
      let first: unknown;
      await page.routeWebSocket('**/graphql', (near) => {
        const far = near.connectToServer();
        const isDead = () => isMute && near === first;
        first ??= near;
        near.onMessage((message) => void (isDead() || far.send(message)));
        far.onMessage((message) => void (isDead() || near.send(message)));
      });
      await page.clock.install();
      await signInElsewhere();
      await explorer.load();
      await button('Sign out').waitFor();
      await open('ShipmentUpdates');
      await run();
      await expect.poll(answerTo('shp_heard'), soon).toContain('"shipmentId": "shp_heard"');
      isMute = true;
      await explorer.sandbox.webhooks.emitShipment({ shipment: { id: 'shp_missed' } });
      for (const _ of ['a ping', 'its pong', 'the pause']) await page.clock.fastForward(10_000);
      await expect.poll(answer, soon).toContain('"shipmentId": "shp_missed"');
      expect(await answer()).toContain('"replayed": true');
    });
  });

  describe('headers that are typed', () => headersTests(explorer));
  describe('on signing in and out', () => signInTests(explorer));
  describe('when answers arrive late', () => lateTests(explorer));
  describe('in its window', () => windowTests(explorer));
});
