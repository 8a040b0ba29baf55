import {
  StrictMode,
  Suspense,
  useEffect,
  useMemo,
  type FunctionComponent,
  type PropsWithChildren,
} from 'react';
import { createRoot, type Root } from 'react-dom/client';
import type { Trivium } from '../../../src/client/core/trivium.js';
import type { ShipmentFilter } from '../../../src/client/generated/index.js';
import { watchTrivium } from '../watched-trivium.js';
import type { Row } from './cache-contract.js';

/** A list as a hook of a cache gives it. */
export interface HookedList {
  readonly rows: readonly (Row & { readonly stage?: string | null })[];
  readonly hasMore: boolean;
  readonly more: () => unknown;
}

/** A client with a cache, by its own hooks. */
export interface HookedCache {
  readonly Provider: FunctionComponent<PropsWithChildren>;
  /** The first three shipments of a filter, and what asks for more. */
  readonly useList: (filter: ShipmentFilter) => HookedList;
  /** Subscribes to all shipments. */
  readonly useUpdates: () => void;
}

const everything: ShipmentFilter = {};
const inTransit: ShipmentFilter = { stage: 'IN_TRANSIT' };

/**
 * Makes a page that mounts lists of a cache under StrictMode: `mount`, `unmount`, `active` (how many subscriptions there
 * are), and `faults` (the rows that went back in time, or were there twice).
 */
export function servePage(create: (trivium: Trivium) => HookedCache): void {
  const { trivium, watched, active } = watchTrivium();
  const faults: string[] = [];
  const { Provider, useList, useUpdates } = create(watched);

  function List({ filter }: { readonly filter: ShipmentFilter }) {
    const { rows, hasMore, more } = useList(filter);
    const greatest = useMemo(() => new Map<string, number>(), []);
    useEffect(() => {
      if (new Set(rows.map(({ id }) => id)).size < rows.length) faults.push('a row is there twice');
      for (const { id, revision, shipmentId } of rows) {
        if (revision < (greatest.get(id) ?? 0)) faults.push(`${shipmentId} went back`);
        greatest.set(id, revision);
      }
    }, [rows, greatest]);
    return (
      <section>
        <ul>
          {rows.map(({ id, shipmentId, stage }) => (
            <li key={id}>{`${shipmentId} ${stage}`}</li>
          ))}
        </ul>
        {hasMore && <button onClick={() => void more()}>More</button>}
      </section>
    );
  }

  function Updates() {
    useUpdates();
    return null;
  }

  let root: Root | undefined;
  const mount = () => {
    root = createRoot(document.querySelector('#app')!);
    root.render(
      <StrictMode>
        <Provider>
          <Updates />
          <Suspense>
            <List filter={everything} />
            <List filter={inTransit} />
          </Suspense>
        </Provider>
      </StrictMode>,
    );
  };
  Object.assign(globalThis, {
    trivium,
    faults,
    mount,
    unmount: () => root?.unmount(),
    active,
  });
}
