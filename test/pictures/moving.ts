import type { Browser, Page } from 'playwright-core';
import { writeMoving, type Frame } from './frames.js';
import { startReplicas, type Replicas } from './replicas.js';
import { signIn } from './screens.js';

const size = { width: 960, height: 600 };

/** What is going on, above the picture of the page. */
interface Caption {
  readonly text: string;
  readonly first: 'serves' | 'killed';
  readonly second: 'waits' | 'serves';
}

const steps = ['created', 'in_transit', 'out_for_delivery', 'delivered'] as const;

/** A shipment goes on moving in a page while the replica that the page is connected to is killed. */
export async function makeMovingPicture(browser: Browser, path: string): Promise<void> {
  const replicas = await startReplicas();
  try {
    const page = await browser.newPage({ viewport: size });
    page.setDefaultTimeout(120_000);
    await signIn(page, replicas.url);
    const frames = await film(browser, page, replicas);
    await writeMoving(path, frames);
  } finally {
    await replicas.stop();
  }
}

async function film(browser: Browser, page: Page, replicas: Replicas): Promise<readonly Frame[]> {
  const stage = await browser.newPage({ viewport: { width: size.width, height: size.height + 56 } });
  const frames: Frame[] = [];
  const shoot = async (caption: Caption, ms: number) => {
    await stage.setContent(layout(caption, await page.screenshot()));
    frames.push({ png: await stage.screenshot(), ms });
  };
  const id = 'shp_7Q2M';
  const move = async (step: (typeof steps)[number]) => {
    const shipment = { id, carrier: 'Blue Van', tracking_number: 'BV 2041 77', status: step };
    await replicas.sandbox.webhooks.emitShipment({ type: `shipment.${step}`, shipment });
  };
  const shows = (count: number) =>
    page.waitForFunction(({ name, least }) => document.body.innerText.split(name).length > least, {
      name: id,
      least: count,
    });

  const before = {
    text: 'A page follows shipments. Two replicas, one Postgres.',
    first: 'serves',
    second: 'waits',
  } as const;
  await shoot(before, 1500);
  await move('created');
  await shows(1);
  await shoot({ ...before, text: 'A signed webhook: the shipment is created.' }, 1300);
  await move('in_transit');
  await shows(2);
  await shoot({ ...before, text: 'The next one: it is in transit.' }, 1300);
  await replicas.kill();
  const killed = {
    text: 'kill -9 of the replica that the page is connected to.',
    first: 'killed',
    second: 'serves',
  } as const;
  await shoot(killed, 1300);
  await move('out_for_delivery');
  await shoot({ ...killed, text: 'A webhook comes while the page is not connected.' }, 1100);
  await shows(3);
  await shoot({ ...killed, text: 'The page resumes on the other replica: nothing is lost.' }, 1600);
  await move('delivered');
  await shows(4);
  await shoot({ ...killed, text: 'And the shipment goes on: delivered. Nothing came twice.' }, 2600);
  return frames;
}

function layout({ text, first, second }: Caption, png: Buffer): string {
  const light = { serves: '#2f9e5b', waits: '#9aa3b5', killed: '#d33c3c' };
  const box = (name: string, state: keyof typeof light) =>
    `<span class="box"><i style="background:${light[state]}"></i>${name} ${state}</span>`;
  return `<style>
    body { margin: 0; background: #14171c; color: #fff; font: 17px system-ui, sans-serif; }
    div { display: flex; align-items: center; gap: 12px; height: 56px; padding: 0 16px; }
    b { flex: 1; font-weight: 600; }
    .box { display: flex; align-items: center; gap: 8px; padding: 4px 10px; font-size: 14px; background: #2a303b; border-radius: 6px; }
    i { width: 10px; height: 10px; border-radius: 50%; }
    img { display: block; }
  </style><div><b>${text}</b>${box('replica 1', first)}${box('replica 2', second)}</div>
  <img src="data:image/png;base64,${png.toString('base64')}">`;
}
