/** `npm run pictures`: makes the pictures of the documentation from the running product. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launchBrowser } from '../support/browser.js';
import { makeMovingPicture } from './moving.js';
import { makePlots } from './plots.js';
import { makeScreens } from './screens.js';

const folder = 'docs/pictures';
const which = process.argv.slice(2);
const wanted = (name: string) => which.length === 0 || which.includes(name);

if (wanted('plots')) makePlots(folder);
const browser = await launchBrowser();
const scratch = await mkdtemp(join(tmpdir(), 'trivium-pictures-'));
try {
  if (wanted('screens')) await makeScreens(browser, folder, join(scratch, 'gateway.db'));
  if (wanted('moving')) await makeMovingPicture(browser, join(folder, 'resume.webp'));
} finally {
  await browser.close();
  await rm(scratch, { recursive: true, force: true });
}
