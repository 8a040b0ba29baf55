import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { build, preview } from 'vite';
import { exampleAddress, examples } from '../docs/pages.js';
import { launchBrowser, skipBrowserTests } from '../support/browser.js';
import { startTestbed } from '../support/testbed.js';
import { installPackages } from './install.js';

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
    const root = mkdtempSync(join(tmpdir(), 'trivium-first-page-'));
    onTestFinished(() => rmSync(root, { recursive: true, force: true }));
    await installPackages(root);
    const server = await preview({ root, preview: { port: 0, host: '127.0.0.1' }, logLevel: 'warn' });
    onTestFinished(() => server.close());
    const { origin } = new URL(server.resolvedUrls!.local[0]!);
    const testbed = await startTestbed({ settings: { ALLOWED_ORIGINS: origin } });
    onTestFinished(() => testbed.stop());
    writeFileSync(join(root, 'index.html'), html);
    writeFileSync(join(root, 'main.tsx'), source.replaceAll(exampleAddress, new URL(testbed.url).host));
    await build({ root, logLevel: 'warn' });
    const browser = await launchBrowser();
    onTestFinished(() => browser.close());

    const page = await browser.newPage();
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    await page.goto(origin);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const emit = (type: string) =>
      testbed.sandbox.webhooks.emitShipment({ type, shipment: { id: 'shp_first', carrier: 'ups' } });
    const shown = () => page.locator('p').allInnerTexts();
    await emit('shipment.in_transit');
    await expect.poll(shown).toContain('shp_first ups');
    await page.reload();
    await expect.poll(shown).toContain('shp_first ups');
    await emit('shipment.delivered');
    await expect.poll(shown).not.toContain('shp_first ups');
    expect(faults).toEqual([]);
  },
);
