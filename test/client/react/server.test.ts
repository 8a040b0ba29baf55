import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { expect, test, vi } from 'vitest';
import { createTrivium } from '../../../src/client/core/trivium.js';
import { TriviumProvider, useLive, useLiveList, useSession } from '../../../src/client/react/react.js';

function Page() {
  const { status } = useSession();
  const { entities, loading } = useLiveList('shipments');
  const { entity } = useLive('payments', 'pay_1');
  return createElement('p', null, JSON.stringify({ status, entities, loading, entity }));
}

test('a server renders what a page begins with, and asks nothing', () => {
  const fetch = vi.fn<typeof globalThis.fetch>();
  const trivium = createTrivium({ url: 'http://127.0.0.1:4000', fetch });
  const page = renderToString(createElement(TriviumProvider, { trivium }, createElement(Page)));
  const begun = { status: 'unknown', entities: [], loading: true, entity: null };
  expect(page.replaceAll('&quot;', '"')).toBe(`<p>${JSON.stringify(begun)}</p>`);
  expect(fetch).not.toHaveBeenCalled();
});
