import { expect, test } from 'vitest';
import { other, soon, tellOfAnotherWindow, type Explorer } from './explorer.js';

const signInMutation =
  'mutation { signIn(input: { email: "demo@example.com", password: "demo-password" }) { errors { code } } }';

/** What comes too late: answers nobody waits for any more. */
export function lateTests(explorer: Explorer): void {
  const { answer, button, open, run, runInstead, signIn, signOutElsewhere } = explorer;
  const execute = () => explorer.page.getByLabel('Execute query');
  const stop = () => explorer.page.getByLabel('Stop query');
  /** As long as the page takes to show what has come, and longer. */
  const shown = () => explorer.page.waitForTimeout(500);

  /** Keeps the answers to operations with this text in them, until each is let go. */
  async function keep(text: string) {
    const kept: (() => Promise<void>)[] = [];
    await explorer.page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes(JSON.stringify(text).slice(1, -1))) return route.fallback();
      const response = await route.fetch();
      kept.push(() => route.fulfill({ response }));
      return undefined;
    });
    return {
      come: async (count: number) => {
        await expect.poll(() => kept.length, soon).toBe(count);
      },
      /** Lets the answer with this number go; the page may have given it up. */
      letGo: async (index: number) => {
        await kept[index]?.().catch(() => {});
        await shown();
      },
    };
  }

  test.each([
    ['query { notes { nodes { title } } }', '"title"'],
    ['mutation { createNote(input: { title: "Late", content: "?" }) { note { title } } }', '"Late"'],
  ])('shows nobody the answer to %s after the person has signed out', async (operation, told) => {
    await signIn();
    await button('Sign out').waitFor();
    const answers = await keep(operation);
    await runInstead(operation);
    await answers.come(1);
    await answers.letGo(0);
    await expect.poll(answer, soon).toContain(told);
    await run();
    await answers.come(2);
    await button('Sign out').click();
    await button('Sign in').waitFor();
    await execute().waitFor();
    await answers.letGo(1);
    expect(await answer()).not.toContain(told);
    expect(explorer.faults).toEqual([]);
  });

  test('shows no answer after Stop, nor in another tab', async () => {
    await signIn();
    await button('Sign out').waitFor();
    const answers = await keep('notes');
    await run();
    await answers.come(1);
    await stop().click();
    await execute().waitFor();
    await answers.letGo(0);
    expect(await answer()).toBe('');
    await run();
    await answers.come(2);
    await open('Shipments');
    await answers.letGo(1);
    expect(await answer()).toBe('');
    await open('NotesPage');
    await run();
    await answers.come(3);
    await answers.letGo(2);
    await expect.poll(answer, soon).toContain('"title"');
  });

  test('believes what was asked last of who is signed in', async () => {
    await signIn();
    await button('Sign out').waitFor();
    await signOutElsewhere();
    const lookUps = await keep('query Viewer');
    await run();
    await lookUps.come(1);
    await runInstead(signInMutation);
    await lookUps.come(2);
    await lookUps.letGo(1);
    await lookUps.letGo(0);
    expect(await button('Sign out').isVisible()).toBe(true);
  });

  test('stays signed out when it was asked before who is signed in', async () => {
    await signIn();
    await button('Sign out').waitFor();
    const lookUps = await keep('query Viewer');
    await runInstead(signInMutation);
    await lookUps.come(1);
    await button('Sign out').click();
    await button('Sign in').waitFor();
    await lookUps.letGo(0);
    expect(await button('Sign in').isVisible()).toBe(true);
  });

  test('forgets the answers when another person comes, whichever look-up tells of it', async () => {
    await signIn();
    await button('Sign out').waitFor();
    await run();
    await expect.poll(answer, soon).toContain('"title"');
    await signOutElsewhere();
    await open('Shipments');
    await run();
    await button('Sign in').waitFor();
    const queries = await keep('query Shipments');
    const lookUps = await keep('query Viewer');
    await run();
    await queries.come(1);
    await signIn(other);
    await lookUps.come(1);
    await queries.letGo(0);
    await lookUps.come(2);
    await lookUps.letGo(1);
    await lookUps.letGo(0);
    await explorer.page.getByText(other.email, { exact: true }).waitFor();
    await open('NotesPage');
    await expect.poll(answer, soon).toBe('');
  });

  test('forgets the answers after a sign-out, whichever look-up tells of it', async () => {
    await signIn();
    await button('Sign out').waitFor();
    await run();
    await expect.poll(answer, soon).toContain('"title"');
    await open('Shipments');
    const lookUps = await keep('query Viewer');
    await signOutElsewhere();
    await tellOfAnotherWindow(explorer.page);
    await lookUps.come(1);
    await run();
    await lookUps.come(2);
    await lookUps.letGo(1);
    await lookUps.letGo(0);
    await button('Sign in').waitFor();
    await open('NotesPage');
    await expect.poll(answer, soon).toBe('');
  });
}
