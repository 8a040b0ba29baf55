import { useEffect, useRef, useState, type ComponentType, type ReactElement } from 'react';
import { Icon, Mark, type IconName } from '../parts/icons.js';
import { AppointmentsView } from '../views/appointments/appointments-view.js';
import { GatewayView } from '../views/gateway/gateway-view.js';
import { LiveView } from '../views/live/live-view.js';
import { NotesView } from '../views/notes/notes-view.js';
import { PaymentsView } from '../views/payments/payments-view.js';
import { SandboxView } from '../views/sandbox/sandbox-view.js';
import { ShipmentsView } from '../views/shipments/shipments-view.js';
import { WebhooksView } from '../views/webhooks/webhooks-view.js';
import { ConnectionLight } from './connection-light.js';
import { focusMain, useFocusOnChange } from './focus.js';
import { sandboxUrl } from './page-settings.js';
import { hrefOf, usePlace, views, type Place, type View } from './router.js';
import { useSession } from './session.js';
import { mayLeave } from './unsaved.js';
import { ViewBoundary } from './view-boundary.js';

/** What a view is given: the place that its address names. */
export interface ViewProps {
  readonly place: Place;
}

const titles: Readonly<Record<View, string>> = {
  live: 'Live',
  shipments: 'Shipments',
  payments: 'Payments',
  notes: 'Notes',
  appointments: 'Appointments',
  webhooks: 'Webhooks',
  gateway: 'This gateway',
  sandbox: 'Sandbox',
};

const icons: Readonly<Record<View, IconName>> = {
  live: 'pulse',
  shipments: 'box',
  payments: 'card',
  notes: 'note',
  appointments: 'calendar',
  webhooks: 'hook',
  gateway: 'server',
  sandbox: 'play',
};

/** All of them come with the page: one that is opened while the gateway is away, or after its update, is there. */
const pages: Readonly<Record<View, ComponentType<ViewProps>>> = {
  live: LiveView,
  shipments: ShipmentsView,
  payments: PaymentsView,
  notes: NotesView,
  appointments: AppointmentsView,
  webhooks: WebhooksView,
  gateway: GatewayView,
  sandbox: SandboxView,
};

/** The views that there are something for here. */
const shown = views.filter((view) => view !== 'sandbox' || sandboxUrl);

/** The navigation beside the view that the address names. */
export function Shell(): ReactElement {
  const place = usePlace();
  useFocusOnChange(place.view);
  const Page = pages[place.view];
  return (
    <div className="shell">
      <title>{`${titles[place.view]} · Trivium`}</title>
      <a className="skip" href="#main" onClick={skip}>
        Skip to the view
      </a>
      <header className="side">
        <a className="brand" href={hrefOf('live')} aria-label="Trivium">
          <Mark /> <span>Trivium</span>
        </a>
        <Navigation current={place.view} />
        <ConnectionLight />
        {/* What could not be done a view ago is no news any more. */}
        <Person key={place.view} />
      </header>
      <main id="main" tabIndex={-1}>
        <ViewBoundary key={place.view}>
          <Page place={place} />
        </ViewBoundary>
      </main>
    </div>
  );
}

function Navigation({ current }: { readonly current: View }): ReactElement {
  const nav = useRef<HTMLElement>(null);
  // On a phone there is room for a few only.
  useEffect(() => {
    const link = nav.current?.querySelector('[aria-current]');
    link?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [current]);
  return (
    <nav aria-label="Views" ref={nav}>
      <ul>
        {shown.map((view) => (
          <li key={view}>
            <a href={hrefOf(view)} aria-current={view === current ? 'page' : undefined}>
              <Icon name={icons[view]} />
              {titles[view]}
            </a>
          </li>
        ))}
      </ul>
      <ul className="nav-more">
        <li>
          <a href="/graphql">
            <Icon name="braces" />
            Explorer
          </a>
        </li>
        <li>
          <a href="/docs">
            <Icon name="book" />
            Docs
          </a>
        </li>
      </ul>
    </nav>
  );
}

function Person(): ReactElement {
  const { viewer, error, signOut } = useSession();
  const [problem, setProblem] = useState<string>();
  const leave = async (): Promise<void> => {
    if (mayLeave()) setProblem(await signOut());
  };
  return (
    <div className="person">
      {viewer ? (
        <p>
          <b>{viewer.name}</b>
          <span className="quiet">{viewer.email}</span>
        </p>
      ) : (
        <p className="fault" role="status">
          {error?.message} Trying again …
        </p>
      )}
      <button className="button small" type="button" onClick={() => void leave()}>
        Sign out
      </button>
      {problem !== undefined && (
        <p className="fault" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

/** The address' hash is taken by the views. */
function skip(event: { preventDefault(): void }): void {
  event.preventDefault();
  focusMain();
}
