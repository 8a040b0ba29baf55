import { expect, test } from 'vitest';
import { awaitEditor, soon, type Explorer } from './explorer.js';

/** Where typed headers, which may hold a token, are kept. */
export function headersTests(explorer: Explorer): void {
  const { button, run, runInstead } = explorer;
  const kept = () => explorer.page.evaluate(() => JSON.stringify(localStorage));
  const history = () => explorer.page.evaluate(() => localStorage.getItem('graphiql:queries'));
  const headers = () =>
    explorer.page.locator('.graphiql-editor-tool .monaco-editor').filter({ visible: true });
  /** GraphiQL takes half a second to keep what was typed, also when it has been told otherwise meanwhile. */
  const noticed = () => explorer.page.waitForTimeout(800);

  async function typeHeaders(): Promise<void> {
    await button('Headers').click();
    await headers().click();
    await explorer.page.keyboard.insertText('{ "authorization": "Bearer of-mine" }');
  }

  const choice = (name: string) => explorer.page.getByRole('button', { name, exact: true });

  async function persist(name: 'On' | 'Off'): Promise<void> {
    await explorer.page.getByLabel('Open settings dialog').click();
    await choice(name).click();
    await explorer.page.keyboard.press('Escape');
  }

  async function reload(): Promise<void> {
    await explorer.page.reload();
    await awaitEditor(explorer.page);
  }

  test('keeps them only where the settings say so', async () => {
    await typeHeaders();
    await noticed();
    await run();
    await expect.poll(history, soon).toContain('NotesPage');
    expect(await kept()).not.toContain('of-mine');
    await persist('On');
    await runInstead('query Kept { __typename }');
    await noticed();
    await run();
    await expect.poll(history, soon).toContain('of-mine');
  });

  test('keeps none any more when that is switched off', async () => {
    await persist('On');
    await typeHeaders();
    await runInstead('query Kept { __typename }');
    await expect.poll(history, soon).toContain('of-mine');
    await persist('Off');
    expect(await kept()).not.toContain('of-mine');
    await noticed();
    expect(await kept()).toContain('Kept');
    expect(await kept()).not.toContain('of-mine');
  });

  test('keeps none of those that an earlier version has kept', async () => {
    await explorer.page.evaluate(() => {
      const items = [{ query: '{ earlier }', headers: 'of-mine' }];
      localStorage.setItem('graphiql:queries', JSON.stringify({ queries: items }));
      localStorage.setItem('graphiql:favorites', JSON.stringify({ favorites: items }));
    });
    await reload();
    expect(await history()).toContain('earlier');
    expect(await kept()).not.toContain('of-mine');
  });

  test('keeps them, and the setting, for the next visit', async () => {
    await typeHeaders();
    await noticed();
    await persist('On');
    await noticed();
    await reload();
    await noticed();
    await reload();
    await button('Headers').click();
    await expect.poll(() => headers().innerText(), soon).toContain('of-mine');
    await explorer.page.getByLabel('Open settings dialog').click();
    expect(await choice('On').getAttribute('class')).toContain('active');
  });
}
