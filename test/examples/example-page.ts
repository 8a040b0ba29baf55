import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Page } from 'playwright-core';
import { build, preview } from 'vite';
import { exampleAddress } from '../docs/pages.js';
import { launchBrowser } from '../support/browser.js';
import { startTestbed, type Testbed } from '../support/testbed.js';
import { installPackages } from './install.js';

/** A page of another origin than its gateway. */
interface ExamplePage {
  readonly testbed: Testbed;
  readonly origin: string;
  /** A browser's, in which nothing is open yet. */
  readonly page: Page;
  /** What was thrown in it. */
  readonly faults: readonly string[];
}

/** Builds an app of examples, whose address becomes that of a gateway of its own, and serves it until the test ends. */
export async function openExample(files: Readonly<Record<string, string>>): Promise<ExamplePage> {
  const root = mkdtempSync(join(tmpdir(), 'trivium-example-page-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  await installPackages(root);
  const server = await preview({ root, preview: { port: 0, host: '127.0.0.1' }, logLevel: 'warn' });
  onTestFinished(() => server.close());
  const { origin } = new URL(server.resolvedUrls!.local[0]!);
  const testbed = await startTestbed({ settings: { ALLOWED_ORIGINS: origin } });
  onTestFinished(() => testbed.stop());
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(root, name), text.replaceAll(exampleAddress, new URL(testbed.url).host));
  await build({ root, logLevel: 'warn' });
  const browser = await launchBrowser();
  onTestFinished(() => browser.close());
  const page = await browser.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  return { testbed, origin, page, faults };
}
