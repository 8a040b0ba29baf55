import { useCallback, useEffect, useEffectEvent, useMemo, useState, type ReactElement } from 'react';
import { hrefOf, type Place } from '../../app/router.js';
import type { ViewProps } from '../../app/shell.js';
import { deliveryKeys } from '../../data/live-event.js';
import { useGateway } from '../../data/use-gateway.js';
import { useDeliveries } from '../../data/use-live.js';
import { useMovingList } from '../../data/use-moving-list.js';
import { usePages, type Pages } from '../../data/use-pages.js';
import {
  WebhookDeliveriesDocument,
  type DeliveryPartsFragment,
  type WebhookDeliveryFilter,
} from '../../generated/index.js';
import { EntityList } from '../../parts/entity-list.js';
import { ChoiceFilter, TextFilter } from '../../parts/filters.js';
import { NoGrant, useGrant } from '../../parts/no-grant.js';
import { Loading } from '../../parts/problem.js';
import { SafeText } from '../../parts/safe-text.js';
import { Split } from '../../parts/split.js';
import { Ago } from '../../parts/times.js';
import { DeliveryDetail } from './delivery-detail.js';
import { Endpoints } from './endpoints.js';
import { OutcomeBadge, outcomeNames } from './outcome.js';
import { RequestForm } from './request-form.js';

/** Deliveries come with their bodies, of up to a mebibyte each. */
const pageSize = 20;
/** With more the list begins anew. */
const maxRows = 2000;
/** Among how many one that an address names is looked for. */
const mostSearched = 500;

/** What arrives at the webhooks, and why something was refused. */
export function WebhooksView({ place }: ViewProps): ReactElement {
  if (!useGrant('WEBHOOKS_READ')) return <NoGrant grant="webhooks:read" what="webhooks" />;
  return <Deliveries place={place} />;
}

interface Row extends DeliveryPartsFragment {
  readonly id: string;
  /** A delivery never changes. */
  readonly revision: 0;
}

function Deliveries({ place }: ViewProps): ReactElement {
  const filter = useFilter(place.params);
  const { pages, moving } = useRows(filter);
  const { id, params } = place;
  const isSought = useSought(id, pages);
  return (
    <Split
      title="Webhooks"
      id={id}
      closeHref={hrefOf('webhooks', undefined, params)}
      detailLabel={
        id === 'explain' ? 'Why a request is refused' : id === 'endpoints' ? 'Endpoints' : 'Delivery'
      }
      actions={
        <div className="form-actions">
          <a className="button" href={hrefOf('webhooks', 'endpoints', params)}>
            Endpoints
          </a>
          <a className="button" href={hrefOf('webhooks', 'explain', params)}>
            Why refused?
          </a>
        </div>
      }
      filters={<Filters place={place} />}
      list={
        <EntityList
          pages={pages}
          moving={moving}
          label="Deliveries, newest first"
          hrefOf={(row) => hrefOf('webhooks', row.id, params)}
          selected={id}
          nameOf={(row) => row.id}
          render={(row) => <DeliveryRow row={row} />}
          empty={
            <p>
              {Object.keys(filter).length > 0
                ? 'No delivery matches. An event type has to be given in full.'
                : 'No delivery yet.'}
            </p>
          }
        />
      }
      detail={detailOf(id, pages, isSought)}
    />
  );
}

/**
 * Loads pages until they have the delivery that the address names, or an older one: its name begins with its time. Tells
 * whether it may yet be found.
 */
function useSought(id: string | undefined, { rows, hasMore, hasBegun, more }: Pages<Row>): boolean {
  const last = rows.at(-1);
  const isFurther =
    id !== undefined &&
    last !== undefined &&
    Date.parse(id.split(' ')[0] ?? '') <= Date.parse(last.receivedAt) &&
    rows.every((row) => row.id !== id);
  const isSought = isFurther && hasMore && rows.length < mostSearched;
  useEffect(() => {
    if (isSought) more();
  }, [isSought, more]);
  return isSought || !hasBegun;
}

function detailOf(id: string | undefined, pages: Pages<Row>, isSought: boolean): ReactElement | undefined {
  if (id === undefined) return undefined;
  if (id === 'endpoints') return <Endpoints />;
  if (id === 'explain') return <RequestForm />;
  const row = pages.rows.find((one) => one.id === id);
  if (row) return <DeliveryDetail key={id} delivery={row} />;
  if (isSought) return <Loading of={pages} />;
  return <p className="quiet">This delivery is not among those loaded.</p>;
}

function Filters({ place }: { readonly place: Place }): ReactElement {
  return (
    <div className="filters" role="search" aria-label="Filter deliveries">
      <ChoiceFilter
        place={place}
        name="outcome"
        label="Outcome"
        all="Any"
        options={Object.entries(outcomeNames)}
      />
      <ChoiceFilter
        place={place}
        name="family"
        label="Webhook"
        all="Any"
        options={[
          ['SHIPMENTS', 'Shipments'],
          ['PAYMENTS', 'Payments'],
        ]}
      />
      <TextFilter place={place} name="type" label="Event type" hint="Any" />
    </div>
  );
}

/** The deliveries that match, and those that come. */
function useRows(filter: WebhookDeliveryFilter) {
  const gateway = useGateway();
  const [toRow] = useState(rowsOf);
  const ask = useCallback(
    async (after: string | undefined, named: ReturnType<typeof rowsOf>) => {
      const { nodes, pageInfo } = (
        await gateway.ask(WebhookDeliveriesDocument, { first: pageSize, after, filter })
      ).webhookDeliveries;
      // Of equal ones the oldest is the first, as when they came.
      return { nodes: nodes.toReversed().map(named).toReversed(), pageInfo };
    },
    [gateway, filter],
  );
  const load = useMemo(() => {
    let named = rowsOf();
    return (after: string | undefined) => {
      if (after === undefined) named = rowsOf(); // a list anew; else equal ones may be on two of its pages
      return ask(after, named);
    };
  }, [ask]);
  const pages = usePages<Row>(load);
  const matches = useCallback((row: Row) => fits(row, filter), [filter]);
  const moving = useMovingList(pages, matches, maxRows);
  const take = (row: Row): void => {
    if (matches(row)) moving.update(row);
  };
  /** The rows that are there stay, unless there are others between them and those that came. */
  const caughtUp = useEffectEvent((asked: typeof load, nodes: readonly Row[]) => {
    if (asked !== load) return; // another filter was chosen meanwhile
    const known = new Set(pages.rows.map(({ id }) => id));
    const fresh = nodes.filter(({ id }) => !known.has(id));
    if (fresh.length === nodes.length) pages.reload();
    else fresh.toReversed().forEach(take);
  });
  const catchUp = async (): Promise<void> => {
    const { nodes } = await ask(undefined, rowsOf()).catch(() => ({ nodes: [] }));
    caughtUp(load, nodes);
  };
  useDeliveries(
    (delivery) => take(toRow(delivery)),
    () => void catchUp(),
  );
  return { pages, moving };
}

function rowsOf(): (delivery: DeliveryPartsFragment) => Row {
  const keyOf = deliveryKeys();
  return (delivery) => ({ ...delivery, id: keyOf(delivery), revision: 0 });
}

function DeliveryRow({ row }: { readonly row: Row }): ReactElement {
  const { type, outcome, message, endpoint, receivedAt } = row;
  return (
    <>
      <span className="row-name">{type == null ? 'No event' : <SafeText>{type}</SafeText>}</span>
      <span className="row-more">
        <OutcomeBadge outcome={outcome} />
        <span className="cut quiet">
          {message == null ? (
            endpoint && <SafeText>{endpoint.endpointId}</SafeText>
          ) : (
            <SafeText>{message}</SafeText>
          )}
        </span>
      </span>
      <span className="row-time quiet">
        <Ago at={receivedAt} />
      </span>
    </>
  );
}

function useFilter({ outcome, family, type }: ViewProps['place']['params']): WebhookDeliveryFilter {
  return useMemo(
    () => ({
      ...(isOutcome(outcome) && { outcomes: [outcome] }),
      ...((family === 'SHIPMENTS' || family === 'PAYMENTS') && { family }),
      ...(type && { types: [type] }),
    }),
    [outcome, family, type],
  );
}

function isOutcome(name: string | undefined): name is keyof typeof outcomeNames {
  return name !== undefined && Object.hasOwn(outcomeNames, name);
}

function fits(delivery: DeliveryPartsFragment, { outcomes, family, types }: WebhookDeliveryFilter): boolean {
  return (
    (!outcomes || outcomes.includes(delivery.outcome)) &&
    (!family || delivery.family === family) &&
    (!types || (delivery.type != null && types.includes(delivery.type)))
  );
}
