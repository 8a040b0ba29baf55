import { describe, expect, test } from 'vitest';
import { skipBrowserTests } from '../support/browser.js';
import { other, soon, useConsole } from './console.js';

interface Listed {
  readonly nodes: object[];
  readonly pageInfo: { hasNextPage: boolean };
}

describe.skipIf(skipBrowserTests)('the views of the console (need Chromium)', () => {
  const ui = useConsole({ PAYMENT_TIMESTAMP_TOLERANCE_SECONDS: '7200' });
  const exactly = (name: string) => ui.page.getByRole('button', { name, exact: true });
  const hasFocus = (element: Element) => element === document.activeElement;
  const isFocused = (name: string) => exactly(name).evaluate(hasFocus);

  /** Holds back requests with this text until what is returned is called. */
  async function hold(text: string): Promise<() => void> {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    await ui.page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes(text)) await released;
      return route.fallback();
    });
    return release;
  }

  test('a note is written, too long a one is refused beside its field, and it is pinned, shared and deleted', async () => {
    await ui.open('#/notes/new');
    await ui.page.getByLabel('Title').fill('From the console');
    await ui.page.getByLabel('Text').fill('x'.repeat(10_001));
    await ui.page.getByText('10,001 of 10,000 characters').waitFor();
    await exactly('Create').click();
    const text = ui.page.getByLabel('Text');
    await expect.poll(() => text.getAttribute('aria-invalid'), soon).toBe('true');
    await expect.poll(() => text.evaluate(hasFocus), soon).toBe(true);
    const fault = await ui.page.getByRole('alert').elementHandle();
    await exactly('Create').click();
    await expect.poll(() => fault?.evaluate((shown) => shown.isConnected), soon).toBe(false);
    await expect.poll(() => text.evaluate(hasFocus), soon).toBe(true); // it is said once more
    const answer = await hold('xxx');
    await exactly('Create').click();
    await ui.page.getByLabel('Tags').focus();
    answer();
    await expect.poll(() => text.getAttribute('aria-invalid'), soon).toBe('true');
    expect(await ui.page.getByLabel('Tags').evaluate(hasFocus)).toBe(true);
    await ui.page.unroute('**/graphql');
    await text.fill('short');
    await ui.page.route('**/graphql', (route) => route.abort());
    await exactly('Create').click();
    await ui.page.locator('.form .problem').waitFor();
    expect(await text.getAttribute('aria-invalid')).toBe(null);
    await ui.page.unroute('**/graphql');
    await ui.page.getByLabel('Tags').fill('console, tests');
    await exactly('Create').click();
    await exactly('Save').waitFor();
    await ui.page.getByLabel('Pinned (at most').check();
    await exactly('Save').click();
    await ui.page.getByText('Saved.').waitFor();
    await ui.page.getByLabel('Title').fill('From the console, and more');
    expect(await ui.page.getByText('Saved.').count()).toBe(0);
    await exactly('Share').click();
    const email = ui.page.getByLabel('With (e-mail)');
    await expect.poll(() => email.evaluate(hasFocus), soon).toBe(true);
    await email.fill(other.email);
    await exactly('Share').click();
    await ui.page.getByText(`Shared with ${other.email}.`).waitFor();
    await ui.expectAccessible();
    await exactly('Delete this note').click();
    await exactly('Keep it').press('Enter');
    expect(await isFocused('Delete this note')).toBe(true);
    await exactly('Delete this note').click();
    await exactly('Yes, delete it').click();
    await expect.poll(() => new URL(ui.page.url()).hash, soon).toBe('#/notes');
    await expect.poll(() => ui.page.getByText('From the console').count(), soon).toBe(0);
    expect(ui.faults).toEqual([]);
  });

  test('saving a note sends only what was changed, and leaves tags with a comma or outer blanks whole', async () => {
    const { testbed } = ui;
    const token = await testbed.signIn();
    const ask = async (name: string, input: object) => {
      const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input`;
      const query = `mutation ($input: ${type}!) { ${name}(input: $input) { note { id } errors { code } } }`;
      const { data } = await testbed.ask(query, { input }, token);
      return (data as Record<string, { note: { id: string } }>)[name]!.note.id;
    };
    const id = await ask('createNote', { title: 'Shared', content: 'mine', tags: ['red, green', ' x'] });
    const read = async () => {
      const query = 'query ($id: ID!) { node(id: $id) { ... on Note { title content tags { name } } } }';
      return (await testbed.ask(query, { id }, token)).data.node as unknown;
    };
    await ui.open(`#/notes/${encodeURIComponent(id)}`);
    expect(await ui.page.getByLabel('Tags').inputValue()).toBe('"red, green", " x"');
    await ask('updateNote', { id, content: 'of somebody else', tags: ['red, green', 'theirs'] });
    await ui.page.getByLabel('Title').fill('Ours');
    await exactly('Save').click();
    await ui.page.getByText('Saved.').waitFor();
    const tags = [{ name: 'red, green' }, { name: 'theirs' }];
    expect(await read()).toEqual({ title: 'Ours', content: 'of somebody else', tags });
    await ui.page.getByLabel('Tags').fill('"a, ""b""", c,');
    await exactly('Save').click();
    await expect
      .poll(read, soon)
      .toEqual({ title: 'Ours', content: 'of somebody else', tags: [{ name: 'a, "b"' }, { name: 'c' }] });
    await exactly('Save').click();
    await ui.page.getByText('Saved.').waitFor();
    expect(ui.faults).toEqual([]);
  });

  test('what is deleted while another note is written does not disturb that', async () => {
    await ui.open('#/notes');
    const note = ui.page.locator('.row').nth(1);
    const title = (await note.locator('.row-name').innerText()).trim();
    await note.click();
    await exactly('Delete this note').click();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await ui.page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('mutation DeleteNote')) await held;
      return route.continue();
    });
    await exactly('Yes, delete it').click();
    await ui.page.getByRole('link', { name: 'New note' }).click();
    await ui.page.getByRole('heading', { name: 'New note' }).waitFor();
    await ui.page.getByLabel('Title').fill('Being written');
    release();
    await expect.poll(() => ui.page.locator('.row').filter({ hasText: title }).count(), soon).toBe(0);
    expect(await ui.page.getByLabel('Title').inputValue()).toBe('Being written');
  });

  test('a note that is not saved is asked about before it is left, and no more once it is saved', async () => {
    await ui.takeOwnPage();
    await ui.open('#/notes');
    await ui.page.getByRole('link', { name: 'New note' }).click();
    await ui.page.getByLabel('Title').fill('Half a note');
    const asked: string[] = [];
    let leaves = false;
    ui.page.on('dialog', (dialog) => {
      asked.push(dialog.message());
      return leaves ? dialog.accept() : dialog.dismiss();
    });
    await ui.page.getByRole('link', { name: 'Shipments' }).click();
    await expect.poll(() => asked.length, soon).toBe(1);
    await ui.page.locator('.row').first().click();
    await exactly('Sign out').click();
    await expect
      .poll(() => asked, soon)
      .toEqual(Array(3).fill('What you have typed is not saved. Leave it?'));
    expect(new URL(ui.page.url()).hash).toBe('#/notes/new');
    expect(await ui.page.getByLabel('Title').inputValue()).toBe('Half a note');
    await ui.page.getByLabel('Text').fill('and the other half');
    await exactly('Create').click();
    await exactly('Delete this note').waitFor();
    await ui.page.getByRole('link', { name: 'Shipments' }).click();
    await ui.page.getByRole('heading', { name: 'Shipments' }).waitFor();
    await ui.page.goBack();
    await ui.page.getByLabel('Title').fill('Another half');
    leaves = true;
    await ui.page.getByRole('link', { name: 'Shipments' }).click();
    await ui.page.getByRole('heading', { name: 'Shipments' }).waitFor();
    expect(asked).toHaveLength(4);
    expect(ui.faults).toEqual([]);
  });

  test('what is typed into a note is compared with what was saved last; while it is created, nothing can be', async () => {
    await ui.takeOwnPage();
    let asked = 0;
    ui.page.on('dialog', (dialog) => {
      asked += 1;
      return dialog.dismiss();
    });
    await ui.open('#/notes/new');
    await ui.page.getByLabel('Title').fill('First');
    await ui.page.getByLabel('Text').fill('Text');
    const release = await hold('mutation CreateNote');
    await exactly('Create').click();
    for (const label of ['Title', 'Text', 'Tags'])
      await expect.poll(() => ui.page.getByLabel(label).isEditable(), soon).toBe(false);
    const pinned = ui.page.getByLabel('Pinned (at most');
    await pinned.click({ force: true });
    expect(await pinned.isChecked()).toBe(false);
    release();
    await exactly('Delete this note').waitFor();
    expect(await pinned.isEditable()).toBe(true);
    await ui.page.getByLabel('Title').fill('Second');
    await exactly('Save').click();
    await ui.page.getByText('Saved.').waitFor();
    await ui.page.getByLabel('Title').fill('First');
    await ui.page.getByRole('link', { name: 'Shipments' }).click();
    await expect.poll(() => asked, soon).toBe(1);
    await ui.page.getByLabel('Title').fill('Second');
    await ui.page.getByText('Saved.').waitFor();
    await ui.page.getByRole('link', { name: 'Shipments' }).click();
    await ui.page.getByRole('heading', { name: 'Shipments' }).waitFor();
    expect(asked).toBe(1);
  });

  test('a booking that is not made is asked about before it is left, by a link, the back button and out of the page', async () => {
    await ui.takeOwnPage();
    await ui.open('#/appointments?as=agenda');
    await ui.page.getByRole('link', { name: 'Book', exact: true }).click();
    const asked: string[] = [];
    ui.page.on('dialog', (dialog) => {
      asked.push(dialog.type());
      return dialog.dismiss();
    });
    const participant = ui.page.getByLabel('Participant 1');
    await participant.fill('Patient/42');
    await ui.page.getByRole('link', { name: 'Week', exact: true }).click();
    await expect.poll(() => new URL(ui.page.url()).hash, soon).toBe('#/appointments/new');
    await ui.page.getByRole('link', { name: 'Notes' }).click();
    await expect.poll(() => asked, soon).toEqual(['confirm']);
    await ui.page.goBack();
    expect(new URL(ui.page.url()).hash).toBe('#/appointments/new?as=agenda');
    await expect(ui.page.goBack({ timeout: 1_000 })).rejects.toThrow('Timeout');
    await expect.poll(() => asked, soon).toEqual(['confirm', 'confirm']);
    await ui.page.close({ runBeforeUnload: true });
    await expect.poll(() => asked, soon).toEqual(['confirm', 'confirm', 'beforeunload']);
    expect(await participant.inputValue()).toBe('Patient/42');
    const release = await hold('mutation CreateAppointment');
    await exactly('Book').click();
    await expect.poll(() => participant.isEditable(), soon).toBe(false);
    const status = ui.page.getByLabel('Status');
    await status.press('ArrowDown');
    expect(await status.inputValue()).toBe('BOOKED');
    await exactly('Add another').click({ force: true });
    expect(await ui.page.getByLabel('Participant 2').count()).toBe(0);
    release();
    await expect.poll(() => new URL(ui.page.url()).hash, soon).not.toContain('/new');
    await ui.page.getByRole('link', { name: 'Notes' }).click();
    await ui.page.getByRole('heading', { name: 'Notes' }).waitFor();
    expect(asked).toHaveLength(3);
    expect(ui.faults).toEqual([]);
  });

  test('a payment with many events is not read for each, and says that its newest are shown', async () => {
    const emit = () => ui.testbed.sandbox.webhooks.emitPayment({ object: { id: 'pay_many' } });
    await emit();
    await ui.open('#/payments/pay_many');
    await ui.page.getByRole('heading', { name: '1 event', exact: true }).waitFor();
    await expect.poll(() => ui.page.locator('.light').innerText(), soon).toBe('Live');
    let asked = 0;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await ui.page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes('query Payment(')) return route.continue();
      asked++;
      await held;
      return route.continue();
    });
    for (let many = 2; many <= 25; many++) await emit();
    await ui.page.getByRole('heading', { name: '25 events', exact: true }).waitFor();
    expect(asked).toBeLessThan(5);
    release();
    await ui.page.getByRole('heading', { name: '24 newest events' }).waitFor();
    await ui.page.getByText('Older events are not shown.').waitFor();
  });

  test('a currency is found by what the list shows', async () => {
    await ui.testbed.sandbox.webhooks.emitPayment({ object: { id: 'pay_lower', currency: 'xts' } });
    await ui.testbed.sandbox.webhooks.emitPayment({ object: { id: 'pay_upper', currency: 'XTS' } });
    await ui.open('#/payments');
    for (const id of ['pay_lower', 'pay_upper']) {
      const row = ui.page.getByRole('link', { name: new RegExp(id) });
      const [, currency] = (await row.locator('.figure').innerText()).split(' ');
      await ui.page.getByLabel('Currency').fill(currency!);
      await expect.poll(() => ui.page.locator('.row').count(), soon).toBe(1);
      await row.waitFor();
      await ui.page.getByLabel('Currency').fill('');
      await ui.page.getByRole('link', { name: /pay_lower/ }).waitFor();
      await ui.page.getByRole('link', { name: /pay_upper/ }).waitFor();
    }
  });

  test('a shipment with many events is read again, and says that its newest are shown', async () => {
    const emit = () => ui.testbed.sandbox.webhooks.emitShipment({ shipment: { id: 'shp_many' } });
    await emit();
    await ui.open('#/shipments/shp_many');
    await ui.page.getByRole('heading', { name: '1 event', exact: true }).waitFor();
    await expect.poll(() => ui.page.locator('.light').innerText(), soon).toBe('Live');
    for (let many = 2; many <= 120; many++) await emit();
    await ui.page.getByRole('heading', { name: /^1\d\d newest events$/ }).waitFor();
    await ui.page.getByText('Older events are not shown.').waitFor();
    expect(ui.faults).toEqual([]);
  });

  test('what could not be saved is not said to be tried again', async () => {
    await ui.open('#/notes/new');
    await ui.page.getByLabel('Title').fill('Not saved');
    await ui.page.route('**/graphql', (route) => route.abort());
    await exactly('Create').click();
    const problem = ui.page.locator('.split-detail').getByRole('alert');
    await expect.poll(() => problem.innerText(), soon).toBe('The gateway cannot be reached.');
  });

  test('rows have room for the usual ids, and cut tags, amounts and words of any length', async () => {
    const long = 'of-any-length-'.repeat(20);
    const tags = [1, 2, 3].map((at) => ({ id: `tag_${at}`, name: `${at}-${long}` }));
    const times = { createdAt: '2026-01-01T12:00:00Z', updatedAt: '2026-01-01T12:00:00Z' };
    const note = { id: 'note_long', title: long, content: long, isPinned: true, tags, ...times };
    const notes = { nodes: [note], pageInfo: { hasNextPage: false, endCursor: null } };
    const usualId = `pay_${'0'.repeat(32)}`;
    await ui.testbed.sandbox.webhooks.emitPayment({ object: { id: usualId } });
    const object = { id: `pay_${long}`, amount: 123_456_789_012_345, currency: 'eur', status: long };
    await ui.testbed.sandbox.webhooks.emitPayment({ object });
    for (const width of [1280, 390]) {
      await ui.page.setViewportSize({ width, height: 844 });
      await ui.page.route('**/graphql', (route) =>
        route.request().postData()?.includes('query Notes(')
          ? route.fulfill({ json: { data: { notes } } })
          : route.fallback(),
      );
      for (const [view, text] of [
        ['notes', long],
        ['payments', usualId],
      ] as const) {
        await ui.open(`#/${view}`);
        await ui.page.locator('.row').filter({ hasText: text }).waitFor();
        const rows = await ui.page
          .locator('.row')
          .evaluateAll((all) => all.map((one) => one.scrollHeight - one.clientHeight));
        expect(Math.max(...rows)).toBe(0);
        const list = await ui.page.locator('.virtual').evaluate((box) => box.scrollWidth - box.clientWidth);
        expect(list).toBe(0);
      }
      const name = ui.page.locator('.row-name').filter({ hasText: usualId });
      expect(await name.evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
    }
  });

  test('a tag that no note has any more can be taken away from the filter', async () => {
    await ui.open('#/notes?tag=gone');
    const tag = ui.page.getByRole('combobox', { name: 'Tag' });
    await ui.page.getByText('No note matches.').waitFor();
    expect(await tag.inputValue()).toBe('gone');
    await tag.selectOption({ label: 'Any' });
    await ui.page.locator('.row').first().waitFor();
    expect(ui.faults).toEqual([]);
  });

  test('a booking is shown with its status, in whatever form its times were written', async () => {
    const forms = ['12:00:00+00', '12:00:01,5Z', '23:59:60Z', 'noon'];
    const day = '2026-11-25T';
    const bookings = forms.map((form, at) => ({
      ...bookingOf(String(at)),
      status: form === 'noon' ? 'NOSHOW' : 'BOOKED',
      start: `${day}${form === 'noon' ? '12:00:00Z' : form}`,
      end: `${day}${form}`,
    }));
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await ui.page.route('**/graphql', async (route) => {
      const body = route.request().postData() ?? '';
      if (!body.includes('query Appointments(')) return route.fallback();
      const isFirst = !body.includes('"after":"');
      if (!isFirst) await held;
      const nodes = isFirst ? bookings.slice(0, 1) : bookings;
      const pageInfo = { hasNextPage: true, endCursor: 'place' };
      return route.fulfill({ json: { data: { appointments: { nodes, pageInfo } } } });
    });
    await ui.open('#/appointments?as=agenda&week=2026-11-23');
    await exactly('More of this week').press('Enter');
    await exactly('Loading …').waitFor();
    release();
    await exactly('More of this week').waitFor();
    expect(await isFocused('More of this week')).toBe(true);
    await expect.poll(() => ui.page.locator('.agenda-row').count(), soon).toBe(forms.length);
    expect(await ui.page.locator('.agenda').innerText()).toContain(`${day}noon`);
    await ui.page.getByRole('link', { name: 'Week', exact: true }).click();
    await expect.poll(() => ui.page.locator('.slot').count(), soon).toBe(forms.length);
    expect(await ui.page.locator('.slot').filter({ hasText: 'No show' }).innerText()).toContain('Patient/3');
    expect(await ui.page.locator('.slot').filter({ hasText: 'Booked' }).count()).toBe(0);
    await ui.expectAccessible();
    expect(ui.faults).toEqual([]);
  });

  test('a booking is refused beside its field, made, and explained if it is not confirmed', async () => {
    await ui.open('#/appointments/new');
    await exactly('Add another').click();
    await exactly('Add another').click();
    await exactly('Remove the last').press('Enter');
    expect(await isFocused('Remove the last')).toBe(true);
    await exactly('Remove the last').press('Enter');
    expect(await isFocused('Add another')).toBe(true);
    await exactly('Book').click();
    const participant = ui.page.getByLabel('Participant 1');
    await expect.poll(() => participant.getAttribute('aria-invalid'), soon).toBe('true');
    await expect.poll(() => participant.evaluate(hasFocus), soon).toBe(true);
    await ui.expectAccessible();
    await participant.fill('Patient/42');
    ui.testbed.sandbox.faults.add({
      service: 'appointments',
      times: 1,
      act: { kind: 'answer', status: 500 },
    });
    await exactly('Book').click();
    await ui.page.getByText('did not say what became of this booking').waitFor();
    await ui.expectAccessible();
    await ui.page.getByRole('link', { name: 'Agenda' }).click();
    await ui.page.locator('.agenda').getByText('Unconfirmed').waitFor();
    expect(ui.faults).toEqual([]);
  });

  test('the times of a booking that is made can be read in full on a phone', async () => {
    await ui.takeOwnPage({ viewport: { width: 390, height: 844 }, locale: 'en-US' });
    await ui.open('#/appointments/new');
    for (const label of ['Starts', 'Ends'])
      expect((await ui.page.getByLabel(label).boundingBox())!.width).toBeGreaterThanOrEqual(220);
  });

  test('a refused delivery says why, with the body as it came, also where another came in the same millisecond', async () => {
    await ui.open('#/webhooks');
    const body = JSON.stringify({ id: 'evt_forged', type: 'shipment.created' });
    const now = Math.floor(Date.now() / 1000);
    const answer = await fetch(`${ui.testbed.url}/webhooks/shipments/sub_demo`, {
      method: 'POST',
      headers: { 'shipping-signature': `t=${now - 4000},v1=${'0'.repeat(64)}` },
      body,
    });
    expect(answer.status).toBe(401);
    await ui.page.locator('.row').filter({ hasText: 'Refused' }).first().click();
    await ui.page.locator('.split-detail').getByText('evt_forged').first().waitFor();
    expect(await ui.page.locator('.notice').innerText()).toMatch(/\d+ s/);
    await ui.expectAccessible();
    expect(await ui.page.content()).not.toContain('0'.repeat(64));

    let first: object | undefined;
    await ui.page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes('query WebhookDeliveries(')) return route.fallback();
      const response = await route.fetch();
      const listed = (await response.json()) as { data: { webhookDeliveries: Listed } };
      const { nodes, pageInfo } = listed.data.webhookDeliveries;
      first ??= nodes[0]!;
      const isFirst = !route.request().postData()!.includes('"after"');
      const copy = { ...first, body: isFirst ? 'of the same millisecond' : 'on the next page' };
      nodes.splice(0, Infinity, ...(isFirst ? [first, copy] : [copy]));
      pageInfo.hasNextPage = isFirst;
      return route.fulfill({ response, json: listed });
    });
    await ui.open('#/webhooks?outcome=REFUSED');
    for (const [at, shown] of ['evt_forged', 'of the same millisecond', 'on the next page'].entries()) {
      await ui.page.locator('.row').nth(at).click();
      await ui.page.locator('.split-detail').getByText(shown).first().waitFor();
    }
    expect(ui.faults).toEqual([]);
  });

  test('a delivery that is being read is there after a reload, whatever came since', async () => {
    const { webhooks } = ui.testbed.sandbox;
    await webhooks.emitShipment({ id: 'evt_read', shipment: { id: 'shp_read' } });
    await ui.open('#/webhooks');
    await ui.page.locator('.row').first().click();
    const read = ui.page.locator('.split-detail').getByText('evt_read');
    await read.first().waitFor();
    await Promise.all(Array.from({ length: 90 }, () => webhooks.emitShipment({ signature: 'wrong' })));
    await ui.page.reload();
    await read.first().waitFor();
    const list = ui.page.locator('.virtual');
    const row = list.locator('.row').first();
    await row.focus();
    await list.evaluate((box) => box.scrollTo({ top: 3_000 }));
    await expect.poll(() => list.evaluate(hasFocus), soon).toBe(true); // its row is gone
    const unknown = `#/webhooks/${encodeURIComponent(`${new Date().toISOString()} STORED`)}`;
    await ui.open(unknown);
    await ui.page.getByText('This delivery is not among those loaded.').waitFor();
    expect(ui.faults).toEqual([]);
  });

  test('a body of a mebibyte, one that is not JSON, and names that cannot be seen or turn around are shown safely', async () => {
    const { webhooks } = ui.testbed.sandbox;
    const deep = Array.from({ length: 60 }, () => Array.from({ length: 60 }, () => Array(60).fill(0)));
    const carrier = '\u200B'.repeat(100_000);
    await webhooks.emitShipment({ shipment: { id: 'shp_\u202Egib', carrier, deep } });
    await ui.open('#/webhooks');
    await ui.page.locator('.row').filter({ hasText: 'sub_demo' }).first().click();
    const detail = ui.page.locator('.split-detail');
    await detail.getByRole('link', { name: 'shp_U+202Egib' }).waitFor();
    await detail.getByText('and 98,000 more characters').waitFor();
    expect(await detail.locator('*').count()).toBeLessThan(5_000);
    await detail.getByText('60 items').click();
    await expect.poll(() => detail.getByText('60 items').count(), soon).toBe(61);
    await detail.getByText('As it came').click();
    await detail
      .locator('pre')
      .getByText(/and [\d,]+ more characters/)
      .waitFor();
    await ui.open('#/shipments');
    await ui.page.locator('.row', { hasText: 'shp_U+202Egib' }).getByText('and 99,500 more').waitFor();

    const body = 'not <b>JSON</b> \u202Egnp.exe';
    await fetch(`${ui.testbed.url}/webhooks/payments/pe_demo`, { method: 'POST', body });
    await ui.open('#/webhooks?outcome=REFUSED');
    await ui.page.locator('.row').filter({ hasText: 'Refused' }).first().click();
    await detail.getByText('which is not JSON').waitFor();
    expect(await detail.locator('pre').innerText()).toBe('not <b>JSON</b> U+202Egnp.exe');
    await ui.expectAccessible();
    expect(ui.faults).toEqual([]);
  });

  test('ids with half of a character are shown, too', async () => {
    const half = { id: 'evt_half_\ud83d', shipment: { id: 'shp_half_\ud83d' } };
    await ui.testbed.sandbox.webhooks.emitShipment(half);
    await ui.open('#/live');
    await ui.page.getByRole('link', { name: 'shp_half_' }).waitFor();
    await ui.page.getByRole('link', { name: 'Webhooks' }).click();
    await ui.page.locator('.row').first().click();
    await ui.page.locator('.split-detail').getByText('evt_half_').first().waitFor();
    expect(ui.faults).toEqual([]);
  });

  test('what an address names is not said to be missing before the list has come', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let failing = false;
    await ui.page.route('**/graphql', async (route) => {
      if (!/query (Appointments|WebhookDeliveries)\(/.test(route.request().postData() ?? ''))
        return route.fallback();
      await held;
      return failing ? route.abort() : route.fallback();
    });
    const detail = ui.page.locator('.split-detail');
    for (const view of ['appointments', 'webhooks']) {
      await ui.open(`#/${view}/unknown`);
      await detail.getByText('Loading …').waitFor();
    }
    // A week in which nothing else is booked, whatever day it is.
    await ui.open('#/appointments?as=agenda&week=2031-01-06');
    await ui.page.getByText('Loading …').waitFor();
    expect(await ui.page.getByText('Nothing is booked in this week.').count()).toBe(0);
    release();
    await ui.page.getByText('Nothing is booked in this week.').waitFor();
    await ui.open('#/webhooks/unknown');
    await detail.getByText('This delivery is not among those loaded.').waitFor();
    await ui.open('#/appointments/unknown');
    await detail.getByText('It is not in this week.').waitFor();
    await ui.page.setViewportSize({ width: 360, height: 740 });
    for (const view of ['webhooks', 'appointments']) {
      failing = true;
      await ui.open(`#/${view}/unknown`);
      const again = detail.getByRole('button', { name: 'Try again' });
      await again.waitFor();
      failing = false;
      await again.click();
      await detail.getByText(/is not (among|in)/).waitFor();
    }
    expect(ui.faults).toEqual([]);
  });

  test('an endpoint shows its address, and its secret is rotated without being shown', async () => {
    await ui.open('#/webhooks/endpoints');
    await expect
      .poll(() => ui.page.getByLabel('Address to register for pe_demo').inputValue(), soon)
      .toContain('/webhooks/payments/pe_demo');
    const copied = ui.page.locator('.copy').last().getByRole('status');
    for (const [outcome, told] of [
      ['resolve', 'Copied.'],
      ['reject', 'It could not be copied.'],
    ] as const) {
      await ui.page.evaluate((settles) => {
        navigator.clipboard.writeText = () => Promise[settles]();
      }, outcome);
      await ui.page.locator('.copy').last().getByRole('button').click();
      await expect.poll(() => copied.innerText(), soon).toBe(told);
    }
    await exactly('Rotate the secret').click();
    await exactly('Keep it').press('Enter');
    expect(await isFocused('Rotate the secret')).toBe(true);
    await exactly('Rotate the secret').click();
    await exactly('Yes, rotate it now').click();
    await ui.page.getByText('The new secret is in use.').waitFor();
    expect(await ui.page.content()).not.toContain('whsec_');
    await ui.expectAccessible();
    await ui.page.route('**/graphql', (route) =>
      route.request().postData()?.includes('mutation RotateSecret') ? route.abort() : route.fallback(),
    );
    await exactly('Rotate the secret').click();
    await exactly('Yes, rotate it now').click();
    await ui.page.locator('.form .problem').waitFor();
    expect(await ui.page.getByText('The new secret is in use.').count()).toBe(0);
  });

  test('there is no button to copy where the browser lets no page copy', async () => {
    await ui.takeOwnPage();
    await ui.page.addInitScript(() =>
      Object.defineProperty(navigator, 'clipboard', { configurable: true, value: undefined }),
    );
    await ui.open('#/webhooks/endpoints');
    await ui.page.getByLabel('Address to register for pe_demo').waitFor();
    expect(await exactly('Copy').count()).toBe(0);
  });

  test('a pasted request is explained', async () => {
    await ui.open('#/webhooks/explain');
    await ui.page.getByLabel('Shipping-Signature').fill('t=1700000000,v1=abc');
    await ui.page.getByLabel('Body').fill('{"id":1}');
    await exactly('Explain').click();
    await expect
      .poll(() => ui.page.locator('.findings').innerText(), soon)
      .toMatch(/signed \d+ s ago; at most 300 s is taken.*v1 is neither/s);
    await ui.expectAccessible();
    await ui.page.locator('.form').getByLabel('Webhook').selectOption('Payment');
    expect(await ui.page.locator('.findings li').count()).toBe(0);
    await ui.page.getByLabel('Payments-Signature').fill('t=1700000000,v1=abc');
    await exactly('Explain').click();
    await ui.page.getByText('at most 7200 s is taken').waitFor();
  });

  test('the sandbox does what it is told, and says what the gateway answered', async () => {
    await ui.open('#/sandbox');
    await ui.page.getByLabel('Id (a new one').fill('shp_told');
    await ui.page.getByLabel('How').selectOption('twice');
    await exactly('Send').click();
    await ui.page.getByText('The gateway answered 200, then 200.').waitFor();
    await ui.page.getByLabel('How').selectOption('wrong-signature');
    await exactly('Send').click();
    await ui.page.getByText('The gateway answered 401.').waitFor();
    await exactly('Fail').click();
    await ui.page.getByText('The next request will meet it, or an older fault.').waitFor();
    await exactly('End all faults').click();
    await ui.page.getByText('The services work as usual again.').waitFor();
    await ui.expectAccessible();
    await ui.open('#/shipments/shp_told');
    await ui.page.getByText('shp_told').first().waitFor();
    expect(ui.faults.filter((fault) => !fault.includes('/control/'))).toEqual([]);
  });

  test('a browser on another machine, where the sandbox is out of reach, is told so', async () => {
    await ui.takeOwnPage({});
    const { url } = ui.testbed;
    const there = 'http://gateway.example';
    await ui.page.route(`${there}/**`, async (route) => {
      if (route.request().url().endsWith('/graphql/stream')) return route.abort(); // it would not end
      const headers = { ...route.request().headers(), origin: url };
      const response = await route.fetch({ url: route.request().url().replace(there, url), headers });
      return route.fulfill({ response });
    });
    await ui.page.goto(`${there}/#/sandbox`);
    await ui.button(/Continue as Dana/).click();
    await ui.page.getByText('for a browser on the same machine').waitFor();
    expect(await ui.page.getByRole('link', { name: 'Sandbox', exact: true }).count()).toBe(0);
    await ui.page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  test('a gateway that has started no sandbox says so, and where to read of one beside it', async () => {
    await ui.open('');
    await ui.page.route(`${ui.testbed.url}/`, async (route) => {
      const response = await route.fetch();
      const page = await response.text();
      return route.fulfill({ response, body: page.replace(/,&quot;sandbox&quot;:.*(?=}")/, '') });
    });
    await ui.page.goto(`${ui.testbed.url}/#/sandbox`);
    await ui.page.reload();
    await ui.page.getByText('There is nothing to command here').waitFor();
    await ui.page.getByRole('link', { name: 'the documentation', exact: true }).click();
    await ui.page.getByRole('heading', { name: 'In a process of its own' }).waitFor();
    expect(ui.faults).toEqual([]);
  });

  test('the gateway says whether it serves, and what is left of the quota of the notes service', async () => {
    await ui.open('#/notes');
    await ui.page.locator('.row').first().waitFor();
    await ui.open('#/gateway');
    await ui.page.getByText('Ready, with its database').waitFor();
    await ui.page.getByText(/^\d{3} of 1,000 left this hour, more at \d\d:\d\d:\d\d$/).waitFor();
    const notes = ui.page.getByRole('row', { name: /^Notes/ });
    await notes.getByText('Answers').waitFor();
    ui.testbed.sandbox.faults.add({ service: 'notes', act: { kind: 'answer', status: 500 } });
    await ui.open('#/notes?pinned=yes');
    await ui.page.locator('.problem').first().waitFor();
    await ui.page.getByRole('link', { name: 'This gateway' }).click();
    await notes.getByText(/^(Failing|Rested)/).waitFor();
    ui.testbed.sandbox.faults.clear();
    await ui.expectAccessible();
    expect(ui.faults).toEqual([]);
    const refused = ui.page.waitForEvent('requestfailed', (request) => request.url().endsWith('/metrics'));
    await ui.page.route('**/metrics', (route) => route.abort());
    await ui.page.route('**/readyz', () => {}); // which gives no answer
    await refused;
    await ui.page.getByText('Unreachable').waitFor();
    await notes.waitFor();
  });

  test('a keyboard alone leads from the first view to a note, and back', async () => {
    await ui.open('#/live');
    const focused = () => ui.page.evaluate(() => document.activeElement?.textContent?.trim() ?? '');
    /** Presses Tab until the focus is on a control with this text. */
    const tabTo = async (text: string | RegExp) => {
      for (let presses = 0; presses < 60; presses += 1) {
        await ui.page.keyboard.press('Tab');
        if ((await focused()).match(text)) return;
      }
      throw new Error(`Tab does not lead to ${String(text)}.`);
    };
    const note = 'Written without a mouse';
    await tabTo(/^Notes/);
    await ui.page.keyboard.press('Enter');
    await ui.page.getByRole('link', { name: 'New note' }).waitFor();
    await tabTo('New note');
    await ui.page.keyboard.press('Enter');
    await ui.page.getByLabel('Title').waitFor();
    const label = () =>
      ui.page.evaluate(() => (document.activeElement as HTMLInputElement | null)?.labels?.[0]?.textContent);
    for (let presses = 0; presses < 60 && !(await label())?.startsWith('Title'); presses += 1)
      await ui.page.keyboard.press('Tab');
    await ui.page.keyboard.type(note);
    await ui.page.keyboard.press('Tab');
    await ui.page.keyboard.type('by keys');
    await tabTo(/^Create$/);
    await ui.page.keyboard.press('Enter');
    await exactly('Save').waitFor();
    await ui.page.keyboard.press('Alt+ArrowLeft');
    await expect.poll(() => new URL(ui.page.url()).hash, soon).toContain('#/notes');
    expect(ui.faults).toEqual([]);
  });

  test('all of them fit a phone, in the dark', async () => {
    await ui.page.setViewportSize({ width: 360, height: 740 });
    await ui.page.emulateMedia({ colorScheme: 'dark' });
    const long = 'x'.repeat(250);
    const pageInfo = { hasNextPage: false, endCursor: null };
    await ui.page.route('**/graphql', async (route) => {
      const asked = route.request().postData() ?? '';
      if (asked.includes('query Appointments('))
        return route.fulfill({ json: { data: { appointments: { nodes: [bookingOf(long)], pageInfo } } } });
      if (!asked.includes('query WebhookEndpoints')) return route.fallback();
      const response = await route.fetch();
      return route.fulfill({ response, body: (await response.text()).replaceAll('pe_demo', long) });
    });
    await ui.testbed.sandbox.webhooks.emitShipment({ id: `evt_${long}` });
    await ui.open('#/webhooks');
    const delivery = await ui.page.locator('.row').first().getAttribute('href');
    for (const [view, heading] of [
      ['#/notes', 'Notes'],
      ['#/appointments', 'Appointments'],
      [`#/appointments/booking_${long}`, `Patient/${long}`],
      ['#/webhooks', 'Webhooks'],
      ['#/webhooks/endpoints', long],
      [delivery!, 'shipment.'],
      ['#/gateway', 'This gateway'],
      ['#/sandbox', 'Sandbox'],
    ] as const) {
      await ui.open(view);
      await ui.page.getByRole('heading', { name: heading }).waitFor();
      await ui.expectAccessible();
      expect(await ui.tooWide()).toEqual([]);
      const link = await ui.page.locator('nav [aria-current]').boundingBox();
      expect(link!.x).toBeGreaterThanOrEqual(0);
      expect(link!.x + link!.width).toBeLessThanOrEqual(360);
    }
  });
});

/** A booking as the gateway answers it. */
function bookingOf(patient: string) {
  return {
    id: `booking_${patient}`,
    upstreamId: null,
    status: 'BOOKED',
    start: '2026-11-25T12:00:00Z',
    end: '2026-11-25T12:30:00Z',
    bookedAt: '2026-11-25T12:00:00Z',
    bookedBy: 'demo@example.com',
    confirmation: 'CONFIRMED',
    participants: [{ actor: { reference: `Patient/${patient}` }, status: 'NEEDS_ACTION' }],
  };
}
