import type { ReactElement } from 'react';
import type { WebhookOutcome } from '../../generated/index.js';

/** Each outcome in words. */
export const outcomeNames: Readonly<Record<WebhookOutcome, string>> = {
  STORED: 'Stored',
  SKIPPED: 'Skipped',
  DUPLICATE: 'Duplicate',
  ALTERED: 'Altered',
  REFUSED: 'Refused',
};

const tones: Readonly<Record<WebhookOutcome, string>> = {
  STORED: 'green',
  SKIPPED: 'plain',
  DUPLICATE: 'blue',
  ALTERED: 'amber',
  REFUSED: 'red',
};

/** What became of a delivery, in its color. */
export function OutcomeBadge({ outcome }: { readonly outcome: WebhookOutcome }): ReactElement {
  return (
    <span className="badge" data-tone={tones[outcome]}>
      {outcomeNames[outcome]}
    </span>
  );
}
