import type { ReactElement, ReactNode } from 'react';
import { SafeText } from './safe-text.js';

interface FactsProps {
  /** Names and values; a value that is not known is a dash. */
  readonly facts: readonly (readonly [name: string, value: ReactNode])[];
}

/** Names beside values. A value that is a text was written by somebody else. */
export function Facts({ facts }: FactsProps): ReactElement {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === 'string' ? <SafeText>{value}</SafeText> : (value ?? '–')}</dd>
        </div>
      ))}
    </dl>
  );
}
