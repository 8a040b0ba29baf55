import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { launchBrowser, skipBrowserTests } from '../../support/browser.js';
import { buildDocs } from '../../support/docs.js';
import { startTestbed, type Testbed } from '../../support/testbed.js';

let testbed: Testbed;

beforeAll(async () => {
  await buildDocs();
  testbed = await startTestbed();
});
afterAll(() => testbed.stop());

test('every link between the pages leads to a page, and to a heading on it', () => {
  const paths = readdirSync('dist/docs', { recursive: true, encoding: 'utf8' });
  const html = new Map(
    paths
      .filter((path) => path.endsWith('.html'))
      .map((path) => {
        const name = path.slice(0, -'.html'.length);
        return [name === 'index' ? '/docs' : `/docs/${name}`, readFileSync(join('dist/docs', path), 'utf8')];
      }),
  );
  expect(html.size).toBeGreaterThan(40);
  const broken = Array.from(html).flatMap(([from, text]) =>
    Array.from(text.matchAll(/href="((?:\/docs)?[^":]*?(?:#[^"]*)?)"/g))
      .map(([, link]) => link!)
      .filter((link) => link.startsWith('/docs') || link.startsWith('#'))
      .filter((link) => {
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? text : html.get(path);
        if (/\.(css|js|svg|webp|png)$/.test(path)) return !paths.includes(path.slice('/docs/'.length));
        return target === undefined || (anchor !== undefined && !target.includes(`id="${anchor}"`));
      })
      .map((link) => `${from}: ${link}`),
  );
  expect(broken).toEqual([]);
});

test.for([
  ['/docs', 200, 'text/html'],
  ['/docs/quick-start', 200, 'text/html'],
  ['/docs/clients/apollo', 200, 'text/html'],
  ['/docs/search.json', 200, 'application/json'],
  ['/docs/nowhere', 404, 'application/json'],
  ['/docs/..%2f..%2fpackage.json', 404, 'application/json'],
] as const)('%s is answered %i', async ([path, status, type]) => {
  const response = await fetch(testbed.url + path);
  expect([response.status, response.headers.get('content-type')?.split(';')[0]]).toEqual([status, type]);
  const policy = response.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toContain('unsafe');
});

test('/docs/ leads to /docs', async () => {
  const { status, headers } = await fetch(`${testbed.url}/docs/`, { redirect: 'manual' });
  expect([status, headers.get('location')]).toEqual([308, '/docs']);
});

describe.skipIf(skipBrowserTests)('in a browser', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  /** A page that tells what went wrong on it: errors, violations of the policy, requests to elsewhere. */
  async function open(
    path: string,
    options = {},
  ): Promise<{ readonly page: Page; readonly faults: string[] }> {
    const page = await browser.newPage(options);
    onTestFinished(() => page.close());
    const faults: string[] = [];
    page.on('console', (message) => void (message.type() === 'error' && faults.push(message.text())));
    page.on('pageerror', ({ message }) => void faults.push(message));
    page.on('request', (request) => {
      if (!request.url().startsWith(testbed.url) && !request.url().startsWith('data:'))
        faults.push(request.url());
    });
    await page.goto(testbed.url + path);
    return { page, faults };
  }

  test('the search finds a section by its words, and leads there by the keyboard', async () => {
    const { page, faults } = await open('/docs');
    await page.keyboard.press('/');
    await page.keyboard.type('idle connections proxy');
    await page.locator('#results a').first().waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/deploy#behind-a-proxy');
    expect(await page.locator('h2#behind-a-proxy').isVisible()).toBe(true);
    await page.getByRole('searchbox').fill('A delivery got 401: why?');
    await page.locator('#results a[href="/docs/webhooks#what-a-delivery-is-answered"]').waitFor();
    await page.getByRole('searchbox').fill('zzzz');
    await page.getByText('Nothing was found.').waitFor();
    expect(faults).toEqual([]);
  });

  test('the navigation leads to a page, and says which one it is', async () => {
    const { page, faults } = await open('/docs');
    await page.getByRole('navigation', { name: 'Documentation' }).getByText('Live updates').click();
    await page.waitForURL('**/docs/live-updates');
    expect(await page.locator('.menu [aria-current=page]').textContent()).toBe('Live updates');
    expect(await page.title()).toBe('Live updates · Trivium');
    expect(faults).toEqual([]);
  });

  test('examples and links have the address of this gateway', async () => {
    for (const path of ['/docs', '/docs/quick-start', '/docs/clients/react']) {
      const { page, faults } = await open(path);
      const shown = (await page.locator('pre').allTextContents()).join('\n');
      const links = await page
        .locator('a')
        .evaluateAll((all) => all.map((one) => (one as HTMLAnchorElement).href));
      expect(shown).toContain(testbed.url);
      for (const text of [shown, ...links]) expect(text).not.toContain('127.0.0.1:4000');
      expect(faults).toEqual([]);
    }
  });

  test('a narrow page does not scroll sideways', async () => {
    for (const path of ['/docs', '/docs/settings', '/docs/live-updates']) {
      const { page } = await open(path, { viewport: { width: 360, height: 740 } });
      const [scroll, client] = await page.evaluate(() => [
        document.documentElement.scrollWidth,
        document.documentElement.clientWidth,
      ]);
      expect(scroll).toBe(client);
    }
  });
});
