import type { Page, Route } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Change } from '../../src/client/core/page.js';
import { openProxy } from '../client/proxy.js';
import { demo } from '../support/testbed.js';
import { other } from './console.js';
import {
  announceFromAnotherWindow,
  announceNetwork,
  awaitDisplay,
  awaitEditor,
  soon,
  type Explorer,
} from './explorer.js';

const inputOf = ({ email, password }: typeof demo) => `{ email: "${email}", password: "${password}" }`;

/** Signing in and out, in the bar and elsewhere. */
export function signInTests(explorer: Explorer): void {
  const { answer, button, run, replaceAndRun, signIn, signedIn, signOutElsewhere } = explorer;
  const problem = (text: string) => explorer.page.getByRole('alert').filter({ hasText: text });
  const field = (name: string) => explorer.page.getByLabel(name);
  /** The label of the focused element. */
  const focused = () =>
    explorer.page.evaluate(() => {
      const { activeElement: element } = document;
      return element?.getAttribute('aria-label') ?? element?.textContent;
    });

  /** Opens a second window with the same session, as a user does. */
  async function openSecond(): Promise<Page> {
    const opened = explorer.page.waitForEvent('popup');
    await explorer.page.evaluate(() => void open(location.href));
    const second = await opened;
    await awaitEditor(second);
    await second.getByRole('button', { name: 'Sign out' }).waitFor();
    return second;
  }

  /** Makes the look-up of who is signed in fail, until the returned function is called. */
  async function failLookUps(): Promise<() => Promise<void>> {
    const isLookUp = (route: Route) => route.request().postData()?.includes('query Viewer');
    await explorer.page.route('**/graphql', (route) => (isLookUp(route) ? route.abort() : route.fallback()));
    return () => explorer.page.unroute('**/graphql');
  }

  /** Lets a page look up who is signed in as if the browser had no cookie. */
  async function withholdCookie(page: Page): Promise<void> {
    await page.route('**/graphql', async (route) => {
      const data = route.request().postData();
      if (!data?.includes('query Viewer')) return route.continue();
      // Sent from here, the request has no cookie.
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(route.request().url(), { method: 'POST', headers, body: data });
      return route.fulfill({ contentType: 'application/json', body: await response.text() });
    });
  }

  describe('once it is loaded', () => {
    explorer.loadEach();

    test('signs in by the bar, shows notes, stays signed in after a reload, and signs out', async () => {
      await signIn();
      await explorer.page.getByText('demo@example.com', { exact: true }).waitFor();
      await run();
      await expect.poll(answer, soon).toMatch(/"nodes": \[ \{ "id": ".+", "title": ".+"/);
      await explorer.page.reload();
      await button('Sign out').click();
      await button('Sign in').waitFor();
      await run();
      await expect.poll(answer, soon).toContain('UNAUTHENTICATED');
      expect(explorer.faults).toEqual([]);
    });

    test('says at the fields why a sign-in failed, until the user types again', async () => {
      await signIn({ ...demo, password: 'wrong' });
      const told = problem('password is wrong');
      await told.waitFor();
      expect(await focused()).toBe('Sign in');
      for (const name of ['E-mail', 'Password']) {
        expect(await field(name).getAttribute('aria-invalid')).toBe('true');
        expect(await field(name).getAttribute('aria-describedby')).toBe(await told.getAttribute('id'));
      }
      await field('Password').press('x');
      await told.waitFor({ state: 'detached' });
      expect(await field('Password').getAttribute('aria-invalid')).toBe('false');
    });

    test('still says why a sign-in failed after another look-up of who is signed in', async () => {
      const restore = await failLookUps();
      await announceFromAnotherWindow(explorer.page);
      await problem('cannot be reached').waitFor();
      await restore();
      const lookedUp = explorer.page.waitForResponse((response) =>
        Boolean(response.request().postData()?.includes('query Viewer')),
      );
      await signIn({ ...demo, password: 'wrong' });
      await problem('password is wrong').waitFor();
      await announceNetwork(explorer.page);
      await lookedUp;
      await awaitDisplay(explorer.page);
      expect(await problem('password is wrong').count()).toBe(1);
    });

    test('moves the focus to the next control, and says who is signed in', async () => {
      await field('E-mail').fill('demo@example.com');
      await field('Password').fill('demo-password');
      await field('Password').press('Enter');
      await expect.poll(focused, soon).toBe('Sign out');
      expect(await explorer.page.getByRole('status').first().innerText()).toBe('Signed in as Dana Demo');
      await button('Sign out').press('Enter');
      await expect.poll(focused, soon).toBe('E-mail');
    });

    test('tells other pages what becomes of the session, in the words of the client package', async () => {
      const heard = await explorer.page.evaluateHandle(() => {
        const changes: unknown[] = [];
        const tabs = new BroadcastChannel(`trivium ${location.origin}`);
        tabs.addEventListener('message', ({ data }) => changes.push(data));
        return changes;
      });
      await signIn();
      await button('Sign out').click();
      await button('Sign in').waitFor();
      const changes: Change[] = ['signed-in', 'signing-out', 'signed-out'];
      await expect.poll(() => heard.jsonValue(), soon).toEqual(changes);
      await replaceAndRun(`mutation { signIn(input: ${inputOf(demo)}) { viewer { name } } }`);
      await button('Sign out').waitFor();
      await replaceAndRun('mutation { signOut { signedOut } }');
      await expect.poll(() => heard.jsonValue(), soon).toEqual([...changes, 'signed-in', 'signed-out']);
    });

    test('notices a sign-in and a sign-out in the editor, and leaves the focus there', async () => {
      await replaceAndRun(`mutation { signIn(input: ${inputOf(demo)}) { viewer { name } } }`);
      await button('Sign out').waitFor();
      await replaceAndRun('mutation { signOut { signedOut } }');
      await button('Sign in').waitFor();
      expect(await focused()).not.toBe('E-mail');
      await expect.poll(answer, soon).toContain('"signedOut": true');
    });

    test('signs out of a session that has ended elsewhere', async () => {
      await signedIn();
      await signOutElsewhere();
      await button('Sign out').click();
      await expect.poll(focused, soon).toBe('E-mail');
    });

    test('follows the sign-ins and sign-outs of other windows, and forgets the answers', async () => {
      await signedIn();
      await run();
      await expect.poll(answer, soon).toContain('"title"');
      const second = await openSecond();
      await second.getByRole('button', { name: 'Sign out' }).click();
      await button('Sign in').waitFor();
      await expect.poll(answer, soon).not.toContain('"title"');
      await signIn();
      await second.getByRole('button', { name: 'Sign out' }).waitFor();
      await second.getByLabel('Execute query').click();
      await second.getByText('"title"').first().waitFor();
      await replaceAndRun('mutation { signOut { signedOut } }');
      await second.getByText('"title"').first().waitFor({ state: 'detached' });
      await second.getByRole('button', { name: 'Sign in' }).waitFor();
      await second.close();
    });

    test.each([
      ['sign-out', 'mutation { signOut { signedOut } }', /"signedOut": true/],
      ['sign-out under an alias', 'mutation { out: signOut { signedOut } }', /^$/],
      [
        'sign-in of another user who selects the token',
        `mutation { signIn(input: ${inputOf(other)}) { sessionToken } }`,
        /^\{ "data": \{ "signIn": \{ "sessionToken": /,
      ],
    ])('forgets the answers after a %s in the editor', async (_, operation, left) => {
      await signedIn();
      await run();
      await expect.poll(answer, soon).toContain('"title"');
      await explorer.open('Shipments');
      await replaceAndRun(operation);
      await explorer.page.getByText(demo.email, { exact: true }).waitFor({ state: 'detached' });
      await expect.poll(answer, soon).toMatch(left);
      await explorer.open('NotesPage');
      await expect.poll(answer, soon).toBe('');
    });

    test('keeps the user and the answers if the look-up of who is signed in fails', async () => {
      await signedIn();
      await run();
      await expect.poll(answer, soon).toContain('"title"');
      await explorer.page.route('**/graphql', (route) =>
        route.request().postData()?.includes('query Viewer') ? route.abort() : route.continue(),
      );
      await announceFromAnotherWindow(explorer.page);
      await problem('cannot be reached').waitFor();
      expect(await button('Sign out').isVisible()).toBe(true);
      expect(await answer()).toContain('"title"');
    });

    test('removes the error of a failed sign-out once the gateway can be reached', async () => {
      await signedIn();
      await explorer.page.route('**/graphql', (route) => route.abort());
      await button('Sign out').click();
      await problem('cannot be reached').waitFor();
      await explorer.page.unroute('**/graphql');
      await announceNetwork(explorer.page);
      await problem('cannot be reached').waitFor({ state: 'detached' });
      expect(await button('Sign out').isVisible()).toBe(true);
    });

    test('forgets the answers of an ended session when another user signs in', async () => {
      await signedIn();
      await run();
      await expect.poll(answer, soon).toContain('"title"');
      await signOutElsewhere();
      await explorer.open('Shipments');
      await run();
      await button('Sign in').waitFor();
      await explorer.open('NotesPage');
      await signedIn();
      await expect.poll(answer, soon).toContain('"title"');
      await signOutElsewhere();
      await explorer.open('Shipments');
      await run();
      await signIn(other);
      await explorer.page.getByText(other.email, { exact: true }).waitFor();
      await explorer.open('NotesPage');
      await expect.poll(answer, soon).toBe('');
    });

    test('says that the browser did not store the session cookie', async () => {
      await withholdCookie(explorer.page);
      await signIn();
      await problem('The browser did not store the session cookie').waitFor();
      expect(await field('E-mail').getAttribute('aria-invalid')).toBe('false');
    });

    test('says once how long to wait after too many failed sign-ins', async () => {
      const query =
        'mutation { signIn(input: { email: "else@example.com", password: "no" }) { errors { code } } }';
      const url = `${explorer.gateway.url}/graphql`;
      for (let failures = 0; failures < 10; failures++)
        await explorer.page.request.post(url, { data: { query } });
      await field('E-mail').fill('else@example.com');
      await field('Password').fill('no');
      await button('Sign in').click();
      expect(await problem('Too many').innerText()).toBe(
        'Too many failed sign-ins. Try again in 15 minutes.',
      );
    });
  });

  describe('before it is loaded', () => {
    explorer.loadNone();

    test.each([
      ['by itself', async () => {}],
      ['when the network is back', () => announceNetwork(explorer.page)],
      ['when an operation is answered', run],
    ])('shows nobody as signed out while the look-up fails, and tries again %s', async (_, hint) => {
      await explorer.signInElsewhere();
      const restore = await failLookUps();
      await explorer.load();
      await problem('cannot be reached').waitFor();
      expect(await button('Sign in').isVisible()).toBe(false);
      await restore();
      await hint();
      await button('Sign out').waitFor();
      expect(await problem('cannot be reached').count()).toBe(0);
    });

    test('says so too if the browser blocks all that pages store', async () => {
      await explorer.takeOwnPage();
      await withholdCookie(explorer.page);
      await explorer.page.addInitScript(() => {
        const get = (): never => {
          throw new DOMException('Access is denied for this document.', 'SecurityError');
        };
        Object.defineProperty(globalThis, 'localStorage', { get });
      });
      await explorer.load();
      await signIn();
      await problem('The browser did not store the session cookie').waitFor();
      expect(explorer.faults).toEqual([]);
    });

    test('says that the gateway does not accept the origin of the page', async () => {
      const proxy = await openProxy(explorer.gateway.url);
      const page = await explorer.browser.newPage();
      onTestFinished(async () => {
        await page.close();
        await proxy.stop();
      });
      await page.goto(`${proxy.url}/graphql`);
      await page.getByLabel('E-mail').fill(demo.email);
      await page.getByLabel('Password').fill(demo.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      const told = `The gateway does not accept this origin (${proxy.url}): set PUBLIC_URL or ALLOWED_ORIGINS.`;
      const alert = page.getByRole('alert').filter({ hasText: 'The gateway does not accept' });
      expect(await alert.innerText()).toBe(told);
    });
  });
}
