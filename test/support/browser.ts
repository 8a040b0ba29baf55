import { existsSync } from 'node:fs';
import { chromium, type Browser, type Page, type ViewportSize } from 'playwright-core';

// The headless shell first: it starts at once, and is all that most tests need.
const defaultPaths = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

const executablePath = process.env.CHROMIUM || defaultPaths.find((path) => existsSync(path));

/** Whether to skip the tests in a browser: there is no Chromium, and this is not CI, where that is a failure. */
export const skipBrowserTests = executablePath === undefined && process.env.CI !== 'true';

/** Starts the Chromium of this machine: the one that `CHROMIUM` names, or one at the usual places. */
export async function launchBrowser(): Promise<Browser> {
  if (executablePath === undefined)
    throw new Error('No Chromium was found: install it, or name it in CHROMIUM.');
  return chromium.launch({
    executablePath,
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // A test runs most code of a page a few times only: to optimize it takes longer than to run it as it is.
      '--js-flags=--no-opt --no-maglev',
    ],
  });
}

/**
 * Leaves the page of tests that share it as a new one is, at an address of the gateway that runs no script. It has the
 * headers of the pages: for others, such as those of `/livez`, the browser would begin a new process.
 */
export async function resetPage(page: Page, url: string, viewport: ViewportSize): Promise<void> {
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.context().setOffline(false);
  for (const opened of page.context().pages()) if (opened !== page) await opened.close();
  await page.goto(`${url}/favicon.ico`);
  await page.evaluate(() => {
    localStorage.clear();
    sessionStorage.clear();
  });
  await page.context().clearCookies();
  await resetWindow(page, viewport);
}

/** Lets a page have the window and the pointer that a new one has. */
export async function resetWindow(page: Page, viewport: ViewportSize): Promise<void> {
  await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none' });
  await page.mouse.move(0, 0);
}

/**
 * Collects what goes wrong on a page from now on: requests to other hosts, errors, and console messages such as policy
 * violations, except for those that match `expected`.
 */
export function collectFaults(page: Page, url: string, faults: string[], expected = /(?!)/): void {
  const { host } = new URL(url);
  const note = (address: string): void => {
    if (/^(https?|wss?):/.test(address) && new URL(address).host !== host)
      faults.push(`request to ${address}`);
  };
  page.on('request', (request) => note(request.url()));
  page.on('websocket', (socket) => note(socket.url()));
  page.on('pageerror', ({ message }) => faults.push(message));
  page.on('console', (line) => {
    if (['error', 'warning'].includes(line.type()) && !expected.test(line.text())) faults.push(line.text());
  });
}
