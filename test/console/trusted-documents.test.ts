import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { skipBrowserTests } from '../support/browser.js';
import { scrape } from '../support/metrics.js';
import { codesOf } from '../support/testbed.js';
import { soon, useConsole } from './console.js';

const file = join(mkdtempSync(join(tmpdir(), 'trivium-')), 'manifest.json');
writeFileSync(file, JSON.stringify({ mine: 'query Mine { viewer { email } }' }));

describe.skipIf(skipBrowserTests)('the console where only trusted documents run (needs Chromium)', () => {
  const ui = useConsole({ TRUSTED_DOCUMENTS: file, TRUSTED_DOCUMENTS_MODE: 'only' });

  test('signs in, shows every view and live updates, and writes', async () => {
    await ui.open('#/live');
    await expect.poll(() => ui.page.getByRole('status').first().innerText(), soon).toMatch(/^Live/);
    await ui.testbed.sandbox.webhooks.emitShipment({ shipment: { id: 'shp_live' } });
    await ui.page.getByRole('link', { name: 'shp_live' }).waitFor();
    await ui.testbed.sandbox.webhooks.emitPayment();
    for (const view of ['Shipments', 'Payments', 'Webhooks', 'Notes']) {
      await ui.page.goto(`${ui.testbed.url}/#/${view.toLowerCase()}`);
      await ui.page.getByRole('heading', { name: view, level: 1 }).waitFor();
      await ui.page.locator('main .row').first().waitFor();
    }
    await ui.page.goto(`${ui.testbed.url}/#/appointments?as=agenda`);
    await ui.page.getByText('Nothing is booked in this week.').waitFor();
    await ui.page.goto(`${ui.testbed.url}/#/notes/new`);
    await ui.page.getByLabel('Title').fill('Trusted');
    await ui.page.getByLabel('Text').fill('short');
    await ui.page.getByRole('button', { name: 'Create', exact: true }).click();
    await ui.page.getByRole('button', { name: 'Save', exact: true }).waitFor();
    // Nothing of it was refused, by a gateway that does refuse.
    const refused = 'trivium_untrusted_documents_total{outcome="refused"}';
    expect(await scrape(ui.testbed.telemetry.metrics, refused)).toBe(0);
    expect(codesOf(await ui.testbed.ask('query Stranger { __typename }'))).toEqual(['DOCUMENT_NOT_TRUSTED']);
    await ui.button('Sign out').click();
    await ui.button(/Continue as Dana/).waitFor();
    expect(ui.faults).toEqual([]);
  });
});
