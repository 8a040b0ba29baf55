import type { ReactElement } from 'react';
import type { ShipmentStage } from '../../generated/index.js';

/** Each stage in words, in the order of the lifecycle. */
export const stageNames: Readonly<Record<ShipmentStage, string>> = {
  CREATED: 'Created',
  IN_TRANSIT: 'In transit',
  OUT_FOR_DELIVERY: 'Out for delivery',
  DELIVERY_FAILED: 'Delivery failed',
  DELIVERED: 'Delivered',
};

/** The tone of each stage, as the style sheet names them. */
const tones: Readonly<Record<ShipmentStage, string>> = {
  CREATED: 'plain',
  IN_TRANSIT: 'blue',
  OUT_FOR_DELIVERY: 'amber',
  DELIVERY_FAILED: 'red',
  DELIVERED: 'green',
};

/** A stage as a label in its color. */
export function StageBadge({ stage }: { readonly stage: ShipmentStage }): ReactElement {
  return (
    <span className="badge" data-tone={tones[stage]}>
      {stageNames[stage]}
    </span>
  );
}

/** What a shipment passes through when nothing fails. */
const track: readonly ShipmentStage[] = ['CREATED', 'IN_TRANSIT', 'OUT_FOR_DELIVERY', 'DELIVERED'];

/** How far along a shipment is. */
export function StageTrack({ stage }: { readonly stage: ShipmentStage }): ReactElement {
  const hasFailed = stage === 'DELIVERY_FAILED';
  const reached = track.indexOf(hasFailed ? 'OUT_FOR_DELIVERY' : stage);
  return (
    <ol className="track" data-tone={tones[stage]} aria-label={`Stage: ${stageNames[stage]}`}>
      {track.map((step, index) => (
        <li key={step} data-reached={index <= reached} aria-current={index === reached ? 'step' : undefined}>
          {hasFailed && index === reached ? stageNames[stage] : stageNames[step]}
        </li>
      ))}
    </ol>
  );
}
