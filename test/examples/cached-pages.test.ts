import { expect, test } from 'vitest';
import { examplesIn } from '../docs/pages.js';
import { skipBrowserTests } from '../support/browser.js';
import { openExample } from './example-page.js';

/** What each client with a cache has around the live list of its page. */
const clients = {
  apollo: `
    import { ApolloProvider } from '@apollo/client/react';
    import { createApolloClient } from '@trivium/client/apollo';
    const client = createApolloClient(trivium);
    const provided = <ApolloProvider client={client}><Shipments /></ApolloProvider>;
  `,
  urql: `
    import { Provider } from 'urql';
    import { createUrqlClient } from '@trivium/client/urql';
    const client = createUrqlClient(trivium);
    const provided = <Provider value={client}><Shipments /></Provider>;
  `,
};

const mainOf = (client: keyof typeof clients) => `
  import { createRoot } from 'react-dom/client';
  import { createTrivium } from '@trivium/client';
  import { Shipments } from './shipments.tsx';
  const trivium = createTrivium({ url: 'http://127.0.0.1:4000' });
  ${clients[client]}
  await trivium.signIn('demo@example.com', 'demo-password');
  createRoot(document.getElementById('root')).render(provided);
`;

test.skipIf(skipBrowserTests).for(['apollo', 'urql'] as const)(
  'the live list of the page about %s says what could not be fetched, keeps its rows, and asks again',
  async (client) => {
    const [{ text } = { text: '' }] = examplesIn('tsx', 'ShipmentUpdatesDocument').filter(
      (one) => one.page === `docs/clients/${client}.md`,
    );
    const { testbed, origin, page, faults } = await openExample({
      'index.html': '<div id="root"></div><script type="module" src="/main.tsx"></script>',
      'main.tsx': mainOf(client),
      'shipments.tsx': text,
    });
    const emit = (id: string) => testbed.sandbox.webhooks.emitShipment({ shipment: { id } });
    for (let shipment = 0; shipment < 21; shipment++) await emit(`shp_${shipment}`);
    let isDown = true;
    await page.route('**/graphql', (route) =>
      isDown && route.request().postData()?.includes('query Shipments(') ? route.abort() : route.continue(),
    );
    const dialogs: string[] = [];
    page.on('dialog', (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    const rows = () => page.locator('p:not([role])').count();
    const isTold = async () => dialogs.splice(0).length > 0 || (await page.getByRole('alert').count()) > 0;
    const again = page.getByRole('button', { name: 'Try again' });
    const more = page.getByRole('button', { name: 'More' });

    await page.goto(origin);
    await expect.poll(isTold).toBe(true);
    isDown = false;
    await again.click();
    await expect.poll(rows).toBe(20);
    expect(await isTold()).toBe(false);

    isDown = true;
    await more.click();
    await expect.poll(isTold).toBe(true);
    expect(await rows()).toBe(20);
    await emit('shp_new');
    await expect.poll(rows).toBe(21);

    isDown = false;
    await again.or(more).first().click();
    await expect.poll(rows).toBe(22);
    expect(await isTold()).toBe(false);
    expect(faults).toEqual([]);
  },
);
