import { describe, expect, test } from 'vitest';
import { awaitEditor, soon, type Explorer } from './explorer.js';

/** Where typed headers, which may contain a token, are stored. */
export function headersTests(explorer: Explorer): void {
  const { button, run, replace, replaceAndRun } = explorer;
  const storage = () => explorer.page.evaluate(() => JSON.stringify(localStorage));
  const history = () => explorer.page.evaluate(() => localStorage.getItem('graphiql:queries'));
  const tabState = () => explorer.page.evaluate(() => localStorage.getItem('graphiql:tabState'));
  const headers = () =>
    explorer.page.locator('.graphiql-editor-tool .monaco-editor').filter({ visible: true });
  async function typeHeaders(): Promise<void> {
    await button('Headers').click();
    await headers().click();
    await explorer.page.keyboard.insertText('{ "authorization": "Bearer of-mine" }');
  }

  /** Types an operation, and waits until GraphiQL has stored it: half a second later, after what was typed before. */
  async function typeStored(name: string): Promise<void> {
    await replace(`query ${name} { __typename }`);
    await expect.poll(tabState, soon).toContain(name);
  }

  const choice = (name: string) => explorer.page.getByRole('button', { name, exact: true });

  async function setPersistence(name: 'On' | 'Off'): Promise<void> {
    await explorer.page.getByLabel('Open settings dialog').click();
    await choice(name).click();
    await explorer.page.keyboard.press('Escape');
  }

  const tabNames = () => explorer.page.getByRole('tab').allInnerTexts();

  async function reload(): Promise<void> {
    await explorer.page.reload();
    await awaitEditor(explorer.page);
  }

  describe('in a page that is loaded', () => {
    explorer.loadEach();

    test('are stored only if the settings say so', async () => {
      await typeHeaders();
      await typeStored('Without');
      await run();
      await expect.poll(history, soon).toContain('Without');
      expect(await storage()).not.toContain('of-mine');
      await setPersistence('On');
      await typeStored('Kept');
      await run();
      await expect.poll(history, soon).toContain('of-mine');
    });

    test('are deleted when storing them is switched off', async () => {
      await setPersistence('On');
      await typeHeaders();
      await typeStored('Kept');
      await run();
      await expect.poll(history, soon).toContain('of-mine');
      await replace('query Late { __typename }'); // stored, with the headers, once that is switched off
      await setPersistence('Off');
      expect(await storage()).not.toContain('of-mine');
      await expect.poll(tabState, soon).toContain('Late');
      expect(await storage()).not.toContain('of-mine');
    });

    test('are no less secret than the password of a sign-in, whose document is kept', async () => {
      await replaceAndRun(
        'mutation Enter($secret: String! = "of-mine") { signIn(input: { email: "nobody@example.com", password: $secret }) { errors { code } } }',
      );
      for (const stored of [history, tabState]) await expect.poll(stored, soon).toContain('Enter');
      expect(await storage()).not.toContain('mine');
    });

    test('are deleted with all else that GraphiQL stored, and nothing of other pages, by “Clear data”', async () => {
      await explorer.page.evaluate(() => localStorage.setItem('of-another-page', 'kept'));
      await setPersistence('On');
      await typeHeaders();
      await expect.poll(tabState, soon).toContain('of-mine');
      await run();
      await expect.poll(history, soon).toContain('of-mine');
      await explorer.page.getByLabel('Open settings dialog').click();
      await choice('Clear data').click();
      await expect.poll(history, soon).toBeNull();
      expect(await storage()).not.toContain('of-mine');
      expect(await storage()).toContain('of-another-page');
    });

    test('are stored with the setting for the next visit', async () => {
      await typeHeaders();
      await setPersistence('On');
      await typeStored('Kept'); // after the headers were, without them, by how it was set while they were typed
      expect(await tabState()).toContain('of-mine');
      const tabs = await tabNames();
      await reload();
      await explorer.page.waitForTimeout(800); // GraphiQL may store the tabs half a second after it opened them
      await reload();
      expect(await tabNames()).toEqual(tabs);
      await button('Headers').click();
      await expect.poll(() => headers().innerText(), soon).toContain('of-mine');
      await explorer.page.getByLabel('Open settings dialog').click();
      expect(await choice('On').getAttribute('class')).toContain('active');
    });
  });

  describe('in a page that is not', () => {
    explorer.loadNone();

    test('are deleted if an earlier version stored them', async () => {
      await explorer.page.evaluate(() => {
        const items = [{ query: '{ earlier }', headers: 'of-mine' }];
        localStorage.setItem('graphiql:queries', JSON.stringify({ queries: items }));
        localStorage.setItem('graphiql:favorites', JSON.stringify({ favorites: items }));
      });
      await explorer.load();
      expect(await history()).toContain('earlier');
      expect(await storage()).not.toContain('of-mine');
    });
  });
}
