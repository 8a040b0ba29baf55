import type { Locator } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { shipmentEvent } from '../domains/shipments/events.js';
import { skipBrowserTests } from '../support/browser.js';
import { deliveryOf } from '../support/events.js';
import { openLogAndFeed } from '../support/live.js';
import { soon, useConsole } from './console.js';

const many = 2_000;
const rowHeight = 64;

/** Shipments whose events came within the last 50 minutes. */
async function fill(databaseUrl: string): Promise<void> {
  const live = await openLogAndFeed(databaseUrl);
  const begin = Date.now() - 50 * 60_000;
  const events = Array.from({ length: many }, (_, at) => {
    const time = new Date(begin + at * 1_500).toISOString();
    const id = `many_${at}`;
    return shipmentEvent({ eventId: id, shipmentId: id, occurredAt: time, receivedAt: time });
  });
  await Promise.all(events.map((event) => live.log.append(deliveryOf(event, event.shipmentId))));
  await live.stop();
}

describe.skipIf(skipBrowserTests)('the console with 2,000 shipments (needs Chromium)', () => {
  const ui = useConsole({}, fill);
  const list = (): Locator => ui.page.locator('.virtual');
  const rows = (): Locator => list().getByRole('listitem');

  /** Scrolls to the end again and again, until this many rows are loaded. */
  async function scrollTo(count: number): Promise<void> {
    const height = () => list().evaluate((box) => box.scrollHeight);
    while ((await height()) < count * rowHeight) {
      const before = await height();
      await list().evaluate((box) => box.scrollTo({ top: box.scrollHeight }));
      await expect.poll(height, soon).toBeGreaterThan(before);
    }
  }

  test('reads on as its lists are scrolled, keeps few rows in the page, and holds what changes until it is asked for', async () => {
    for (const [view, event, count] of [
      ['#/shipments', 'shp_live', 1_000],
      ['#/webhooks', 'shipment.delivered', 200],
    ] as const) {
      await ui.open(view);
      await rows().first().waitFor();
      await scrollTo(count);
      expect(await rows().count()).toBeLessThan(60);
      expect(await rows().first().getAttribute('aria-setsize')).toBe('-1'); // not known
      await expect.poll(() => rows().last().getAttribute('aria-posinset'), soon).toMatch(/^\d{3,}$/);
      const seen = await rows().nth(12).innerText();
      await ui.testbed.sandbox.webhooks.emitShipment({
        type: 'shipment.delivered',
        shipment: { id: 'shp_live' },
      });
      const held = ui.button('1 row new or changed');
      await held.waitFor();
      expect((await rows().nth(12).innerText()).split('\n')[0]).toBe(seen.split('\n')[0]);
      await held.click();
      expect(await list().evaluate((box) => box === document.activeElement)).toBe(true);
      await expect.poll(() => rows().first().innerText(), soon).toContain(event);
    }
    expect(ui.faults).toEqual([]);
  });

  test('asks again for what failed, and keeps the pages that it has', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const failing = new Set<boolean>();
    const asked: boolean[] = [];
    await ui.page.route('**/graphql', async (route) => {
      const body = route.request().postData() ?? '';
      if (body.includes('query Place')) await held;
      if (!body.includes('query Shipments(')) return route.fallback();
      const isFirst = !body.includes('"after":"');
      asked.push(isFirst);
      return failing.delete(isFirst) ? route.abort() : route.fallback();
    });
    await ui.open('#/shipments');
    await rows().first().waitFor();
    failing.add(false);
    await list().evaluate((box) => box.scrollTo({ top: box.scrollHeight }));
    await ui.button('Try again').click();
    await scrollTo(100);
    // There may have been others before the subscription began: the list is asked for again, at first in vain.
    await ui.testbed.sandbox.webhooks.emitShipment({ shipment: { id: 'shp_before_it' } });
    failing.add(true);
    asked.splice(0);
    release();
    await list().evaluate((box) => box.scrollTo({ top: 0 }));
    await ui.page.getByRole('link', { name: /shp_before_it/ }).waitFor();
    expect(asked.slice(0, 2)).toEqual([true, true]);
  });

  test('begins a list that has become too long anew once, however much comes meanwhile', async () => {
    let asked = 0;
    let release = (): void => undefined;
    const held: Promise<void>[] = [];
    await ui.page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes('query WebhookDeliveries(')) return route.fallback();
      const isLong = held.length === 0;
      asked += Number(!isLong);
      const response = await route.fetch();
      await held[0];
      const answer = (await response.json()) as { data: { webhookDeliveries: { nodes: object[] } } };
      const { nodes } = answer.data.webhookDeliveries;
      const more = Array.from({ length: 2_100 }, (_, at) => ({ ...nodes[0], eventId: `evt_of_${at}` }));
      if (isLong) nodes.push(...more);
      return route.fulfill({ response, json: answer });
    });
    await ui.open('#/webhooks');
    await expect.poll(() => ui.page.getByRole('status').first().innerText(), soon).toMatch(/^Live/);
    const all = list().getByRole('list');
    const size = () => all.evaluate((box, height) => String(box.clientHeight / height), rowHeight);
    await expect.poll(size, soon).toMatch(/^21\d\d$/);
    held.push(new Promise<void>((resolve) => (release = resolve)));
    for (let index = 0; index < 4; index++) {
      const before = Number(await size());
      await ui.testbed.sandbox.webhooks.emitShipment();
      await expect.poll(async () => Number(await size()), soon).toBe(before + 1);
    }
    expect(asked).toBe(1);
    release();
    await expect.poll(size, soon).toMatch(/^\d\d$/);
  });

  test('says from when on the plot of a busy hour counts all events', async () => {
    await ui.open('#/live');
    await ui.page.getByText('There were too many to count all of those before').waitFor();
    const shipments = ui.page.locator('.legend li').filter({ hasText: 'Shipments' });
    await expect.poll(() => shipments.innerText(), soon).toMatch(/5\d\d$/);
  });
});
