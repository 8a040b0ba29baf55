import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { startSandbox } from '../../src/sandbox/sandbox.js';
import { startGatewayProcess } from '../support/process.js';
import { allGrants } from '../support/testbed.js';

const sizes = {
  light: { viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  dark: { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light' },
} as const;

/** Signs the demo user in at the console, and waits for its first view. */
export async function signIn(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/#/live`);
  await page.getByLabel('E-mail').fill('demo@example.com');
  await page.getByLabel('Password').fill('demo-password');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).first().waitFor();
}

/** Pictures of the console, the explorer and the documentation, in light, dark and at phone width. */
export async function makeScreens(browser: Browser, folder: string, database: string): Promise<void> {
  const sandbox = await startSandbox({ traffic: true });
  const gateway = await startGatewayProcess({
    ...sandbox.settings,
    DATABASE_URL: `sqlite:${database}`,
    GRANTS: JSON.stringify({ '*': allGrants }),
  });
  sandbox.deliverTo(gateway.url);
  try {
    for (const [name, options] of Object.entries(sizes)) {
      const context = await browser.newContext(options);
      const page = await context.newPage();
      page.setDefaultTimeout(120_000);
      const shoot = (what: string) => page.screenshot({ path: join(folder, `${what}-${name}.png`) });
      await signIn(page, gateway.url);
      await page.getByText(/shp_/).first().waitFor();
      await shoot('console');
      await page.goto(`${gateway.url}/graphql`);
      await page.locator('.graphiql-query-editor .view-line').filter({ hasText: /\S/ }).first().waitFor();
      await page.getByRole('tab', { name: 'ShipmentUpdates', exact: true }).click();
      await page
        .locator('.graphiql-query-editor .view-line')
        .filter({ hasText: 'shipmentUpdates' })
        .first()
        .waitFor();
      await page.getByLabel('Execute query').click();
      await page.locator('.result-window .view-line').filter({ hasText: 'cursor' }).first().waitFor();
      await shoot('explorer');
      await context.close();
    }
  } finally {
    await gateway.end();
    await sandbox.stop();
  }
}
