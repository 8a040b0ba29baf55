import { useMemo, type ReactElement } from 'react';
import { createdMs } from '../../data/live-event.js';
import type { PaymentUpdate } from '../../data/live-feed.js';
import { usePaymentUpdates } from '../../data/use-live.js';
import { useQuery } from '../../data/use-query.js';
import { useRecentUpdates } from '../../data/use-recent-updates.js';
import { PaymentDocument, type PaymentEventPartsFragment } from '../../generated/index.js';
import { Disclosure } from '../../parts/disclosure.js';
import { Facts } from '../../parts/facts.js';
import { latest, mergeEvents } from '../../parts/merge-events.js';
import { Problem } from '../../parts/problem.js';
import { SafeText } from '../../parts/safe-text.js';
import { timeline, type Placed } from '../../parts/timeline.js';
import { Ago, Moment, span } from '../../parts/times.js';
import { Tree } from '../../parts/tree.js';
import { count } from '../../parts/words.js';
import { Amount, ModeBadge } from './amount.js';

type PaymentEvent = PaymentEventPartsFragment & { readonly data?: unknown };

/** An update has no data: that is read with the payment. */
const readAfter = 1;

/** One payment: its state, and each of its events with its data. */
export function PaymentDetail({ paymentId }: { readonly paymentId: string }): ReactElement {
  const query = useQuery(PaymentDocument, { paymentId });
  const { data, error, loading, reload } = query;
  const [updates, add] = useRecentUpdates<PaymentUpdate>(readAfter, query);
  usePaymentUpdates((update) => {
    if (update.payment.paymentId === paymentId) add(update);
  }, reload);
  const payment = latest(updates[0]?.payment, data?.payment);
  const hasOlder = data?.payment?.events.pageInfo.hasNextPage;
  const events = useMemo<readonly PaymentEvent[]>(
    () =>
      mergeEvents<PaymentEvent, PaymentEvent>(
        updates.map(({ event }) => event),
        data?.payment?.events.nodes ?? [],
      ),
    [updates, data],
  );
  const title = (
    <h2 className="mono">
      <SafeText>{paymentId}</SafeText>
    </h2>
  );
  if (!payment)
    return (
      <>
        {title}
        {loading && <p className="quiet">Loading …</p>}
        <Problem error={error} retry={reload} busy={loading} />
        {!loading && !error && <p>No event has mentioned this payment.</p>}
      </>
    );
  return (
    <>
      {title}
      <p className="headline">
        <Amount amount={payment.amount} currency={payment.currency} />{' '}
        <ModeBadge livemode={payment.livemode} />
      </p>
      <Facts
        facts={[
          ['Status', payment.status],
          ['Newest event', <Moment key="time" at={payment.updatedAt} />],
        ]}
      />
      <h3>{count(events.length, hasOlder ? 'newest event' : 'event')}</h3>
      <ol className="timeline">
        {timeline(events, ({ created }) => createdMs(created)).map((placed) => (
          <Step key={placed.event.id} placed={placed} />
        ))}
      </ol>
      {hasOlder && <p className="quiet">Older events are not shown.</p>}
    </>
  );
}

function Step({ placed }: { readonly placed: Placed<PaymentEvent> }): ReactElement {
  const { event, occurredMs, isOutOfOrder, lateByMs } = placed;
  return (
    <li>
      <p className="timeline-head">
        <b className="mono">
          <SafeText>{event.type}</SafeText>
        </b>
        {occurredMs !== undefined && <Moment at={new Date(occurredMs).toISOString()} />}
        <ModeBadge livemode={event.livemode} />
        {isOutOfOrder && (
          <span className="badge" data-tone="amber" title="It came after an event that was created later">
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
        <Amount amount={event.amount} currency={event.currency} />
        {event.apiVersion != null && (
          <>
            {' '}
            · version <SafeText>{event.apiVersion}</SafeText>
          </>
        )}{' '}
        · received <Ago at={event.receivedAt} />
        {isOutOfOrder && ', after a newer one: the payment stayed as it was'}
      </p>
      <p className="quiet mono small">
        <SafeText>{event.eventId}</SafeText>
      </p>
      {event.data != null && (
        <Disclosure className="data" summary="Data" beginsOpen={false}>
          {() => <Tree value={event.data} />}
        </Disclosure>
      )}
    </li>
  );
}
