import { StrictMode, type ReactNode } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import {
  TriviumProvider,
  useLive,
  useLiveList,
  useSession,
  useTrivium,
} from '../../../src/client/react/react.js';
import { watchTrivium } from '../watched-trivium.js';

/** A page that mounts a component of the hooks under StrictMode; `active` says how many subscriptions there are. */
const { trivium, watched, active } = watchTrivium();

function Session() {
  const { status, viewer, ended, error } = useSession();
  return (
    <>
      {error && <p role="alert">{error.code}</p>}
      <output>{`${status} ${viewer?.email ?? 'nobody'} ${ended}`}</output>
    </>
  );
}

function List({ stage }: { readonly stage?: 'IN_TRANSIT' | undefined }) {
  const { entities, error, hasMore, more, reload } = useLiveList('shipments', {
    first: 2,
    filter: stage ? { stage } : {},
  });
  return (
    <>
      {error && <p role="alert">{error.code}</p>}
      <ul>
        {entities.map(({ id, shipmentId, stage: of }) => (
          <li key={id}>{`${shipmentId} ${of}`}</li>
        ))}
      </ul>
      {hasMore && <button onClick={() => void more()}>More</button>}
      <button onClick={() => void reload()}>Again</button>
    </>
  );
}

function Shipment({ id }: { readonly id: string }) {
  const { entity, loading } = useLive('shipments', id);
  return <li>{entity ? `${entity.shipmentId} ${entity.stage}` : loading ? 'loading' : 'none'}</li>;
}

function Payment({ id }: { readonly id: string }) {
  const { entity } = useLive('payments', id);
  return <li>{entity ? `${entity.paymentId} ${entity.amount}` : 'none'}</li>;
}

function SameClient() {
  return <output>{String(useTrivium() === watched)}</output>;
}

const components = {
  session: () => <Session />,
  list: () => <List />,
  filtered: () => (
    <>
      <List />
      <List stage="IN_TRANSIT" />
    </>
  ),
  shipment: (id: string) => <Shipment id={id} />,
  payment: (id: string) => <Payment id={id} />,
  shipments: (id: string) =>
    Array.from({ length: 60 }, (_, index) => <Shipment key={index} id={id + index} />),
  client: () => <SameClient />,
} satisfies Record<string, (id: string) => ReactNode>;

let root: Root | undefined;

function unmount(): void {
  root?.unmount();
  root = undefined;
}

function mount(name: keyof typeof components, id = ''): void {
  unmount();
  root = createRoot(document.querySelector('#app')!);
  root.render(
    <StrictMode>
      <TriviumProvider trivium={watched}>{components[name](id)}</TriviumProvider>
    </StrictMode>,
  );
}

Object.assign(globalThis, { trivium, mount, unmount, active });
