import { useMemo, type ReactElement } from 'react';
import { msOf } from '../../data/instant.js';
import type { ShipmentUpdate } from '../../data/live-feed.js';
import { useShipmentUpdates } from '../../data/use-live.js';
import { useQuery } from '../../data/use-query.js';
import { useRecentUpdates } from '../../data/use-recent-updates.js';
import { ShipmentDocument, type ShipmentEventPartsFragment } from '../../generated/index.js';
import { Facts } from '../../parts/facts.js';
import { latest, mergeEvents } from '../../parts/merge-events.js';
import { Problem } from '../../parts/problem.js';
import { SafeText } from '../../parts/safe-text.js';
import { Ago, Moment, span } from '../../parts/times.js';
import { count } from '../../parts/words.js';
import { StageBadge, StageTrack } from './stages.js';
import { timeline, type Placed } from '../../parts/timeline.js';

/** As many events as are read at once. */
const readAfter = 100;

/** One shipment: how far along it is, and each of its events. */
export function ShipmentDetail({ shipmentId }: { readonly shipmentId: string }): ReactElement {
  const query = useQuery(ShipmentDocument, { shipmentId });
  const { data, error, loading, reload } = query;
  const [updates, add] = useRecentUpdates<ShipmentUpdate>(readAfter, query);
  useShipmentUpdates((update) => {
    if (update.shipment.shipmentId === shipmentId) add(update);
  }, reload);
  const shipment = latest(updates[0]?.shipment, data?.shipment);
  const hasOlder = data?.shipment?.events.pageInfo.hasNextPage;
  const events = useMemo(
    () =>
      mergeEvents(
        updates.map(({ event }) => event),
        data?.shipment?.events.nodes ?? [],
      ),
    [updates, data],
  );
  if (!shipment)
    return (
      <>
        <h2 className="mono">
          <SafeText>{shipmentId}</SafeText>
        </h2>
        {loading && <p className="quiet">Loading …</p>}
        <Problem error={error} retry={reload} busy={loading} />
        {!loading && !error && <p>No event has mentioned this shipment.</p>}
      </>
    );
  return (
    <>
      <h2 className="mono">
        <SafeText>{shipmentId}</SafeText>
      </h2>
      <StageTrack stage={shipment.stage} />
      <Facts
        facts={[
          ['Carrier', shipment.carrier],
          ['Tracking number', shipment.trackingNumber],
          ['Status, in the carrier’s words', shipment.status],
          ['Newest event', <Moment key="time" at={shipment.updatedAt} />],
        ]}
      />
      <h3>{count(events.length, hasOlder ? 'newest event' : 'event')}</h3>
      <ol className="timeline">
        {timeline(events, ({ occurredAt }) => msOf(occurredAt)).map((placed) => (
          <Step key={placed.event.id} placed={placed} />
        ))}
      </ol>
      {hasOlder && <p className="quiet">Older events are not shown.</p>}
    </>
  );
}

function Step({ placed }: { readonly placed: Placed<ShipmentEventPartsFragment> }): ReactElement {
  const { event, isOutOfOrder, lateByMs } = placed;
  return (
    <li data-stage={event.stage}>
      <p className="timeline-head">
        <StageBadge stage={event.stage} />
        <Moment at={event.occurredAt} />
        {isOutOfOrder && (
          <span className="badge" data-tone="amber" title="It came after an event that occurred later">
            Out of order
          </span>
        )}
        {lateByMs !== undefined && (
          <span className="badge" data-tone="amber">
            {span(lateByMs)} late
          </span>
        )}
      </p>
      <p className="quiet">
        {event.status != null && (
          <>
            “<SafeText>{event.status}</SafeText>” ·{' '}
          </>
        )}
        received <Ago at={event.receivedAt} />
        {isOutOfOrder && ', after a newer one: the shipment stayed where it was'}
      </p>
      <p className="quiet mono small">
        <SafeText>{event.eventId}</SafeText>
      </p>
    </li>
  );
}
