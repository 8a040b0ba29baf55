import { expect, test } from 'vitest';
import { other } from './console.js';
import { announceFromAnotherWindow, awaitDisplay, soon, type Explorer } from './explorer.js';

const signInMutation =
  'mutation { signIn(input: { email: "demo@example.com", password: "demo-password" }) { errors { code } } }';

/** Answers that arrive when nobody waits for them any more. */
export function lateTests(explorer: Explorer): void {
  const { answer, button, open, run, replaceAndRun, signIn, signedIn, signOutElsewhere } = explorer;
  explorer.loadEach();
  const execute = () => explorer.page.getByLabel('Execute query');
  const stop = () => explorer.page.getByLabel('Stop query');

  /** Holds back the answers to operations that contain this text, until each is released. */
  async function holdBack(text: string) {
    const held: (() => Promise<void>)[] = [];
    await explorer.page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes(JSON.stringify(text).slice(1, -1))) return route.fallback();
      const response = await route.fetch();
      held.push(() => route.fulfill({ response }));
      return undefined;
    });
    return {
      arrived: async (count: number) => {
        await expect.poll(() => held.length, soon).toBe(count);
      },
      /** Releases the answer with this index; the page may have abandoned it. */
      release: async (index: number) => {
        await held[index]?.().catch(() => {});
        await awaitDisplay(explorer.page);
      },
    };
  }

  test.each([
    ['query { notes { nodes { title } } }', '"title"'],
    ['mutation { createNote(input: { title: "Late", content: "?" }) { note { title } } }', '"Late"'],
  ])('does not show the answer to %s after the user has signed out', async (operation, expected) => {
    await signedIn();
    const answers = await holdBack(operation);
    await replaceAndRun(operation);
    await answers.arrived(1);
    await answers.release(0);
    await expect.poll(answer, soon).toContain(expected);
    await run();
    await answers.arrived(2);
    await button('Sign out').click();
    await button('Sign in').waitFor();
    await execute().waitFor();
    await answers.release(1);
    expect(await answer()).not.toContain(expected);
    expect(explorer.faults).toEqual([]);
  });

  test('does not show an answer after Stop, nor in another tab', async () => {
    await signedIn();
    const answers = await holdBack('notes');
    await run();
    await answers.arrived(1);
    await stop().click();
    await execute().waitFor();
    await answers.release(0);
    expect(await answer()).toBe('');
    await run();
    await answers.arrived(2);
    await open('Shipments');
    await answers.release(1);
    expect(await answer()).toBe('');
    await open('NotesPage');
    await run();
    await answers.arrived(3);
    await answers.release(2);
    await expect.poll(answer, soon).toContain('"title"');
  });

  test('goes by the latest look-up of who is signed in', async () => {
    await signedIn();
    await signOutElsewhere();
    const lookUps = await holdBack('query Viewer');
    await run();
    await lookUps.arrived(1);
    await replaceAndRun(signInMutation);
    await lookUps.arrived(2);
    await lookUps.release(1);
    await lookUps.release(0);
    expect(await button('Sign out').isVisible()).toBe(true);
  });

  test('stays signed out if the look-up was sent before the sign-out', async () => {
    await signedIn();
    const lookUps = await holdBack('query Viewer');
    await replaceAndRun(signInMutation);
    await lookUps.arrived(1);
    await button('Sign out').click();
    await button('Sign in').waitFor();
    await lookUps.release(0);
    expect(await button('Sign in').isVisible()).toBe(true);
  });

  test('forgets the answers when another user signs in, whichever look-up shows it', async () => {
    await signedIn();
    await run();
    await expect.poll(answer, soon).toContain('"title"');
    await signOutElsewhere();
    await open('Shipments');
    await run();
    await button('Sign in').waitFor();
    const queries = await holdBack('query Shipments');
    const lookUps = await holdBack('query Viewer');
    await run();
    await queries.arrived(1);
    await signIn(other);
    await lookUps.arrived(1);
    await queries.release(0);
    await lookUps.arrived(2);
    await lookUps.release(1);
    await lookUps.release(0);
    await explorer.page.getByText(other.email, { exact: true }).waitFor();
    await open('NotesPage');
    await expect.poll(answer, soon).toBe('');
  });

  test('forgets the answers after a sign-out, whichever look-up shows it', async () => {
    await signedIn();
    await run();
    await expect.poll(answer, soon).toContain('"title"');
    await open('Shipments');
    const lookUps = await holdBack('query Viewer');
    await signOutElsewhere();
    await announceFromAnotherWindow(explorer.page);
    await lookUps.arrived(1);
    await run();
    await lookUps.arrived(2);
    await lookUps.release(1);
    await lookUps.release(0);
    await button('Sign in').waitFor();
    await open('NotesPage');
    await expect.poll(answer, soon).toBe('');
  });
}
