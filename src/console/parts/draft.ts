import { useState } from 'react';

/** What is typed into a form that began with these values; it stays until the form is left. */
export function useDraft<Values extends object>(first: Values) {
  const [begun] = useState(first);
  const [values, setValues] = useState(begun);
  const set = (change: Partial<Values>): void => setValues((now) => ({ ...now, ...change }));
  return { values, set, isChanged: JSON.stringify(values) !== JSON.stringify(begun) };
}
