import { useCallback, useMemo, type ReactElement } from 'react';
import { hrefOf } from '../../app/router.js';
import type { ViewProps } from '../../app/shell.js';
import { useGateway } from '../../data/use-gateway.js';
import { usePaymentUpdates } from '../../data/use-live.js';
import { useMovingList } from '../../data/use-moving-list.js';
import { usePages } from '../../data/use-pages.js';
import { PaymentsDocument, type PaymentFilter, type PaymentRowFragment } from '../../generated/index.js';
import { EntityList } from '../../parts/entity-list.js';
import { ChoiceFilter, TextFilter } from '../../parts/filters.js';
import { NoGrant, useGrant } from '../../parts/no-grant.js';
import { SafeText } from '../../parts/safe-text.js';
import { Split } from '../../parts/split.js';
import { Ago } from '../../parts/times.js';
import { Amount, ModeBadge } from './amount.js';
import { PaymentDetail } from './payment-detail.js';

const pageSize = 50;

/** All payments, the latest activity first, and one of them with its events. */
export function PaymentsView({ place }: ViewProps): ReactElement {
  if (!useGrant('PAYMENTS_READ')) return <NoGrant grant="payments:read" what="payments" />;
  return <Payments place={place} />;
}

const modes = [
  ['live', 'Live'],
  ['test', 'Test'],
] as const;

function Payments({ place }: ViewProps): ReactElement {
  const gateway = useGateway();
  const filter = useFilter(place.params);
  const load = useCallback(
    async (after: string | undefined) =>
      (await gateway.ask(PaymentsDocument, { first: pageSize, after, filter })).payments,
    [gateway, filter],
  );
  const pages = usePages<PaymentRowFragment>(load);
  const matches = useCallback((row: PaymentRowFragment) => fits(row, filter), [filter]);
  const moving = useMovingList(pages, matches);
  usePaymentUpdates(({ payment }) => moving.update(payment), pages.reload);
  return (
    <Split
      title="Payments"
      id={place.id}
      closeHref={hrefOf('payments', undefined, place.params)}
      detailLabel="Payment"
      filters={
        <div className="filters" role="search" aria-label="Filter payments">
          <ChoiceFilter place={place} name="mode" label="Mode" all="Live and test" options={modes} />
          <TextFilter place={place} name="status" label="Status" hint="Any" />
          <TextFilter place={place} name="currency" label="Currency" hint="Any" />
        </div>
      }
      list={
        <EntityList
          pages={pages}
          moving={moving}
          label="Payments, latest activity first"
          hrefOf={({ paymentId }) => hrefOf('payments', paymentId, place.params)}
          selected={place.id}
          nameOf={({ paymentId }) => paymentId}
          render={(row) => <PaymentRow row={row} />}
          empty={
            Object.keys(filter).length > 0 ? (
              <p>No payment matches. Status and currency must match exactly.</p>
            ) : (
              <p>No payment yet: one appears here as soon as its first webhook is delivered.</p>
            )
          }
        />
      }
      detail={place.id === undefined ? undefined : <PaymentDetail key={place.id} paymentId={place.id} />}
    />
  );
}

function PaymentRow({ row }: { readonly row: PaymentRowFragment }): ReactElement {
  const { paymentId, amount, currency, status, livemode, updatedAt } = row;
  return (
    <>
      <span className="row-name">
        <SafeText>{paymentId}</SafeText>
      </span>
      <span className="row-more">
        <ModeBadge livemode={livemode} />
        <b className="figure cut">
          <Amount amount={amount} currency={currency} />
        </b>
        <span className="cut quiet">{status != null && <SafeText>{status}</SafeText>}</span>
      </span>
      <span className="row-time quiet">
        <Ago at={updatedAt} />
      </span>
    </>
  );
}

function useFilter({ mode, status, currency }: ViewProps['place']['params']): PaymentFilter {
  return useMemo(
    () => ({
      ...((mode === 'live' || mode === 'test') && { livemode: mode === 'live' }),
      ...(status && { status }),
      ...(currency && { currency }),
    }),
    [mode, status, currency],
  );
}

function fits(row: PaymentRowFragment, { livemode, status, currency }: PaymentFilter): boolean {
  return (
    (livemode == null || row.livemode === livemode) &&
    (!status || row.status === status) &&
    (!currency || row.currency === currency)
  );
}
