import type { ReactElement } from 'react';
import { SafeText } from '../../parts/safe-text.js';
import { number } from '../../parts/words.js';

interface AmountProps {
  readonly amount: number | null | undefined;
  readonly currency: string | null | undefined;
}

/**
 * The service's raw number: in which unit it counts is its own affair, so nothing is divided. The currency is as the
 * service writes it, and the filter wants it.
 */
export function Amount({ amount, currency }: AmountProps): ReactElement {
  return (
    <span title="The service’s own number, in its own unit">
      {amount == null ? '–' : number(amount)}
      {currency != null && (
        <>
          {' '}
          <SafeText>{currency}</SafeText>
        </>
      )}
    </span>
  );
}

/** Whether real money is involved. */
export function ModeBadge({ livemode }: { readonly livemode: boolean }): ReactElement {
  return (
    <span className="badge" data-tone={livemode ? 'green' : 'plain'}>
      {livemode ? 'Live' : 'Test'}
    </span>
  );
}
