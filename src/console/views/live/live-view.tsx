import { useState, type ReactElement } from 'react';
import { describeConnection } from '../../app/connection-light.js';
import { hrefOf } from '../../app/router.js';
import { families, type Family, type LiveEvent } from '../../data/live-log.js';
import { useStore } from '../../data/store.js';
import { useGateway } from '../../data/use-gateway.js';
import { useLiveState } from '../../data/use-live.js';
import { NoGrant, useGrant } from '../../parts/no-grant.js';
import { SafeText } from '../../parts/safe-text.js';
import { Moment } from '../../parts/times.js';
import { count } from '../../parts/words.js';
import { MinutePlot } from './minute-plot.js';
import { seriesNames } from './series.js';

const shownEvents = 60;

/** What is happening: the last hour as a plot, the newest events, and a button that proves that none is lost. */
export function LiveView(): ReactElement {
  const shipments = useGrant('SHIPMENTS_READ');
  const payments = useGrant('PAYMENTS_READ');
  if (!shipments && !payments)
    return <NoGrant grant="shipments:read" other="payments:read" what="live events" />;
  return (
    <div className="view">
      <header className="view-head">
        <h1>Live</h1>
        <CutButton />
      </header>
      <MinutePlot />
      <NewestEvents follows={{ shipments, payments }} />
    </div>
  );
}

/** Cuts the connection as a network would, so that anybody can see what happens then. */
function CutButton(): ReactElement {
  const gateway = useGateway();
  const connection = useStore(gateway.connection);
  const isCut = connection.state === 'cut';
  return (
    <div className="cut-button">
      {connection.state !== 'live' && <span className="quiet">{describeConnection(connection)}</span>}
      <button
        className={isCut ? 'button primary' : 'button'}
        type="button"
        onClick={isCut ? gateway.reconnect : gateway.cut}
        title="Everything that happens meanwhile is caught up on when the connection is back"
      >
        {isCut ? 'Let it reconnect' : 'Cut the connection'}
      </button>
    </div>
  );
}

interface NewestEventsProps {
  /** Which families the person may see. */
  readonly follows: Readonly<Record<Family, boolean>>;
}

function NewestEvents({ follows }: NewestEventsProps): ReactElement {
  const { newest, read } = useLiveState();
  const isRead = families.every((family) => !follows[family] || read.has(family));
  const [held, setHeld] = useState<readonly LiveEvent[]>();
  const shown = (held ?? newest).slice(0, shownEvents);
  const passed = held ? newest.findIndex(({ key }) => key === held[0]?.key) : 0;
  const fresh = passed < 0 ? newest.length : passed; // so many came that the newest of then is not kept any more
  return (
    <section className="newest" aria-labelledby="newest">
      <header className="section-head">
        <h2 id="newest">Newest events</h2>
        <button
          className={held ? 'button small primary' : 'button small'}
          type="button"
          onClick={() => setHeld(held ? undefined : newest)}
        >
          {held ? `Go on${fresh > 0 ? ` (${count(fresh, 'new one')})` : ''}` : 'Hold still'}
        </button>
      </header>
      {shown.length === 0 ? (
        <p className="empty">
          {isRead
            ? 'Nothing has come yet. Events appear here the moment they are delivered.'
            : 'Reading the last hour …'}
        </p>
      ) : (
        <ol className="events">
          {shown.map((event) => (
            <Event key={event.key} event={event} />
          ))}
        </ol>
      )}
    </section>
  );
}

function Event({ event }: { readonly event: LiveEvent }): ReactElement {
  const { family, series, type, entityId, receivedAt, isLate, isCaughtUp, note } = event;
  return (
    <li>
      <span className="event-time quiet">
        <Moment at={receivedAt} form="clock" />
      </span>
      <i className="dot" data-series={series} title={seriesNames[series]} aria-hidden="true" />
      <span className="mono cut">
        <SafeText>{type}</SafeText>
      </span>
      <span className="cut event-entity">
        {entityId === undefined ? (
          note
        ) : (
          <a className="mono" href={hrefOf(family, entityId)}>
            <SafeText>{entityId}</SafeText>
          </a>
        )}
      </span>
      <span className="event-marks">
        {isCaughtUp && (
          <span className="badge" data-tone="blue">
            Caught up
          </span>
        )}
        {isLate && (
          <span className="badge" data-tone="amber">
            Late
          </span>
        )}
      </span>
    </li>
  );
}
