import { expect, test } from 'vitest';
import { soon, type Explorer } from './explorer.js';

/** Who signs in and out, by the bar and past it. */
export function signInTests(explorer: Explorer): void {
  const { answer, button, run, signIn } = explorer;
  const problem = (text: string) => explorer.page.getByRole('alert').filter({ hasText: text });

  test('signs in by the bar, shows notes, stays signed in, signs out', async () => {
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

  test('says what is wrong with a sign-in', async () => {
    await signIn('wrong');
    await problem('do not belong together').waitFor();
    expect(await button('Sign in').isVisible()).toBe(true);
  });
}
