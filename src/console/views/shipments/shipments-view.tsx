import { useCallback, useMemo, type ReactElement } from 'react';
import { hrefOf } from '../../app/router.js';
import type { ViewProps } from '../../app/shell.js';
import { useGateway } from '../../data/use-gateway.js';
import { useShipmentUpdates } from '../../data/use-live.js';
import { useMovingList } from '../../data/use-moving-list.js';
import { usePages } from '../../data/use-pages.js';
import { ShipmentsDocument, type ShipmentFilter, type ShipmentRowFragment } from '../../generated/index.js';
import { EntityList } from '../../parts/entity-list.js';
import { ChoiceFilter, TextFilter } from '../../parts/filters.js';
import { NoGrant, useGrant } from '../../parts/no-grant.js';
import { SafeText } from '../../parts/safe-text.js';
import { Split } from '../../parts/split.js';
import { Ago } from '../../parts/times.js';
import { ShipmentDetail } from './shipment-detail.js';
import { StageBadge, stageNames } from './stages.js';

const pageSize = 50;

/** All shipments, the latest activity first, and one of them as a time line. */
export function ShipmentsView({ place }: ViewProps): ReactElement {
  if (!useGrant('SHIPMENTS_READ')) return <NoGrant grant="shipments:read" what="shipments" />;
  return <Shipments place={place} />;
}

function Shipments({ place }: ViewProps): ReactElement {
  const gateway = useGateway();
  const filter = useFilter(place.params);
  const load = useCallback(
    async (after: string | undefined) =>
      (await gateway.ask(ShipmentsDocument, { first: pageSize, after, filter })).shipments,
    [gateway, filter],
  );
  const pages = usePages<ShipmentRowFragment>(load);
  const matches = useCallback((row: ShipmentRowFragment) => fits(row, filter), [filter]);
  const moving = useMovingList(pages, matches);
  useShipmentUpdates(({ shipment }) => moving.update(shipment), pages.reload);
  return (
    <Split
      title="Shipments"
      id={place.id}
      closeHref={hrefOf('shipments', undefined, place.params)}
      detailLabel="Shipment"
      filters={
        <div className="filters" role="search" aria-label="Filter shipments">
          <ChoiceFilter
            place={place}
            name="stage"
            label="Stage"
            all="Any"
            options={Object.entries(stageNames)}
          />
          <TextFilter place={place} name="carrier" label="Carrier" hint="Any" />
          <TextFilter place={place} name="tracking" label="Tracking number" hint="Any" />
        </div>
      }
      list={
        <EntityList
          pages={pages}
          moving={moving}
          label="Shipments, latest activity first"
          hrefOf={({ shipmentId }) => hrefOf('shipments', shipmentId, place.params)}
          selected={place.id}
          nameOf={({ shipmentId }) => shipmentId}
          render={(row) => <ShipmentRow row={row} />}
          empty={<Empty isFiltered={Object.keys(filter).length > 0} />}
        />
      }
      detail={place.id === undefined ? undefined : <ShipmentDetail key={place.id} shipmentId={place.id} />}
    />
  );
}

function ShipmentRow({ row }: { readonly row: ShipmentRowFragment }): ReactElement {
  const { shipmentId, stage, carrier, trackingNumber, updatedAt } = row;
  return (
    <>
      <span className="row-name">
        <SafeText>{shipmentId}</SafeText>
      </span>
      <span className="row-more">
        <StageBadge stage={stage} />
        <span className="cut">
          {carrier != null && <SafeText>{carrier}</SafeText>}
          {carrier != null && trackingNumber != null && ' · '}
          {trackingNumber != null && (
            <span className="mono">
              <SafeText>{trackingNumber}</SafeText>
            </span>
          )}
        </span>
      </span>
      <span className="row-time quiet">
        <Ago at={updatedAt} />
      </span>
    </>
  );
}

function Empty({ isFiltered }: { readonly isFiltered: boolean }): ReactElement {
  return isFiltered ? (
    <p>No shipment matches. Carrier and tracking number must match exactly.</p>
  ) : (
    <p>No shipment yet: one appears here as soon as its first webhook is delivered.</p>
  );
}

function useFilter({ stage, carrier, tracking }: ViewProps['place']['params']): ShipmentFilter {
  return useMemo(
    () => ({
      ...(isStage(stage) && { stage }),
      ...(carrier && { carrier }),
      ...(tracking && { trackingNumber: tracking }),
    }),
    [stage, carrier, tracking],
  );
}

function isStage(name: string | undefined): name is keyof typeof stageNames {
  return name !== undefined && Object.hasOwn(stageNames, name);
}

function fits(row: ShipmentRowFragment, { stage, carrier, trackingNumber }: ShipmentFilter): boolean {
  return (
    (!stage || row.stage === stage) &&
    (!carrier || row.carrier === carrier) &&
    (!trackingNumber || row.trackingNumber === trackingNumber)
  );
}
