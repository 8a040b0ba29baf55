import { useState } from 'react';

/** What is typed into a form that began with these values; it stays until the form is left. */
export function useDraft<Values extends object>(first: Values) {
  const [kept, keep] = useState(first);
  const [values, setValues] = useState(kept);
  const set = (change: Partial<Values>): void => setValues((now) => ({ ...now, ...change }));
  return {
    values,
    set,
    /** What it began with or, once that is saved, what `keep` was told. */
    kept,
    keep,
    isChanged: JSON.stringify(values) !== JSON.stringify(kept),
  };
}
