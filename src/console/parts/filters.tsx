import { useEffect, useEffectEvent, useState, type ReactElement } from 'react';
import { goTo, hrefOf, type Place } from '../app/router.js';

/** Changes one of the parameters in the address, which is where filters live: so a filtered list can be shared. */
function useParam(place: Place, name: string): readonly [string, (value: string) => void] {
  const value = place.params[name] ?? '';
  const set = (next: string): void =>
    goTo(hrefOf(place.view, place.id, { ...place.params, [name]: next || undefined }), { replace: true });
  return [value, set];
}

interface FilterProps {
  readonly place: Place;
  readonly name: string;
  readonly label: string;
}

interface ChoiceProps extends FilterProps {
  readonly all: string;
  readonly options: readonly (readonly [value: string, label: string])[];
}

/** A filter with a few values. */
export function ChoiceFilter({ place, name, label, all, options }: ChoiceProps): ReactElement {
  const [value, set] = useParam(place, name);
  return (
    <label className="filter">
      <span>{label}</span>
      <select value={value} onChange={({ target }) => set(target.value)}>
        <option value="">{all}</option>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

const pauseMs = 350;

/** A filter by a text that must match exactly; it is applied once typing pauses. */
export function TextFilter({
  place,
  name,
  label,
  hint,
}: FilterProps & { readonly hint: string }): ReactElement {
  const [value, set] = useParam(place, name);
  const [typed, setTyped] = useState(value);
  // A blank at the end is kept: more may follow.
  useEffect(() => setTyped((now) => (now.trim() === value ? now : value)), [value]);
  // With the address as it is then: another filter may have been chosen meanwhile.
  const apply = useEffectEvent(() => {
    if (typed.trim() !== value) set(typed.trim());
  });
  useEffect(() => {
    const timer = setTimeout(() => apply(), pauseMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <label className="filter">
      <span>{label}</span>
      <input
        type="search"
        value={typed}
        placeholder={hint}
        spellCheck={false}
        autoComplete="off"
        onChange={({ target }) => setTyped(target.value)}
      />
    </label>
  );
}
