import { expect, test } from 'vitest';
import { examples } from '../docs/pages.js';
import { skipBrowserTests } from '../support/browser.js';
import { openExample } from './example-page.js';

/** The first example in a language of the page about React. */
function exampleIn(language: string): string {
  const found = examples.find((one) => one.page === 'docs/clients/react.md' && one.language === language);
  if (!found) throw new Error(`docs/clients/react.md has no example in ${language}.`);
  return found.text;
}

test.skipIf(skipBrowserTests)(
  'the page about React is a live list in under forty lines, as it stands',
  async () => {
    const [html, source] = ['html', 'tsx'].map(exampleIn) as [string, string];
    expect((html + source).split('\n').filter((line) => line.trim() !== '').length).toBeLessThan(40);
    const { testbed, origin, page, faults } = await openExample({ 'index.html': html, 'main.tsx': source });
    await page.goto(origin);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const emit = (type: string, id = 'shp_first') =>
      testbed.sandbox.webhooks.emitShipment({ type, shipment: { id, carrier: 'ups' } });
    const shown = () => page.locator('p').allInnerTexts();
    await emit('shipment.in_transit');
    await expect.poll(shown).toContain('shp_first ups');
    await page.reload();
    await expect.poll(shown).toContain('shp_first ups');
    await emit('shipment.delivered');
    await expect.poll(shown).not.toContain('shp_first ups');

    for (let shipment = 0; shipment < 21; shipment++) await emit('shipment.in_transit', `shp_${shipment}`);
    await page.reload();
    await expect.poll(shown).toContain('shp_20 ups');
    await page.route('**/graphql', (route) => route.abort());
    await page.getByRole('button', { name: 'More' }).click();
    await expect.poll(shown).toContain('The gateway cannot be reached.');
    expect(await shown()).toContain('shp_20 ups');
    await page.unroute('**/graphql');
    await page.getByRole('button', { name: 'More' }).click();
    await expect.poll(shown).toContain('shp_0 ups');
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(faults).toEqual([]);
  },
);
