import {
  createContext,
  use,
  useEffect,
  useId,
  useRef,
  useState,
  type ReactElement,
  type ReactNode,
} from 'react';
import type { ErrorPartsFragment } from '../generated/index.js';
import { sentence } from './words.js';

/** What the gateway says is wrong with a form, each below the field at its path. */
export type UserErrors = readonly ErrorPartsFragment[];

/**
 * What is wrong with a form; to be set to nothing when it is sent. The first field that is at fault gets the focus, unless
 * that has gone elsewhere meanwhile.
 */
export function useUserErrors() {
  const form = useRef<HTMLFormElement>(null);
  const sentFrom = useRef<Element | null>(null);
  const [errors, setErrors] = useState<UserErrors>([]);
  useEffect(() => {
    const { activeElement, body } = document;
    if (errors.length === 0) sentFrom.current = activeElement;
    else if (activeElement === sentFrom.current || activeElement === body)
      form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus();
  }, [errors]);
  return { form, errors, setErrors };
}

/** Whether the controls of a form can only be read: what is typed while something new is made would be lost with the form. */
export const Locked = createContext(false);

/** What a control is given so that it is known by its label, and its hint and fault are read out after that. */
export interface ControlState {
  readonly id: string;
  readonly readOnly: boolean;
  readonly 'aria-invalid'?: true;
  readonly 'aria-describedby'?: string;
}

interface FieldProps {
  readonly label: string;
  /** The path below `input`, as the gateway names it. */
  readonly path: string;
  readonly errors: UserErrors;
  /** Below the control, as a limit. */
  readonly hint?: ReactNode;
  readonly children: (state: ControlState) => ReactNode;
}

/** A control with its label, its hint and what is wrong with its value. */
export function Field({ label, path, errors, hint, children }: FieldProps): ReactElement {
  const id = useId();
  const readOnly = use(Locked);
  const fault = errors.find((error) => error.path.join('.') === path);
  const notes = [fault && `${id}-fault`, hint !== undefined && `${id}-hint`].filter(Boolean);
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        readOnly,
        ...(fault && { 'aria-invalid': true }),
        ...(notes.length > 0 && { 'aria-describedby': notes.join(' ') }),
      })}
      {fault && (
        <span className="fault" id={`${id}-fault`} role="alert">
          {fault.message}
        </span>
      )}
      {hint !== undefined && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  );
}

interface ChoiceFieldProps<Value extends string> extends Omit<FieldProps, 'children'> {
  readonly values: readonly Value[];
  readonly value: Value;
  readonly change: (value: Value) => void;
}

/** A field whose value is one of an enum of the schema. */
export function ChoiceField<Value extends string>({
  values,
  value,
  change,
  ...field
}: ChoiceFieldProps<Value>): ReactElement {
  return (
    <Field {...field}>
      {({ readOnly, ...state }) => (
        <select
          value={value}
          aria-disabled={readOnly}
          onChange={({ target }) => readOnly || change(target.value as Value)}
          {...state}
        >
          {values.map((one) => (
            <option key={one} value={one}>
              {sentence(one)}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** The errors whose path is none of the form's fields. */
export function OtherErrors({
  errors,
  paths,
}: {
  readonly errors: UserErrors;
  readonly paths: readonly string[];
}): ReactElement | null {
  const others = errors.filter(({ path }) => !paths.includes(path.join('.')));
  if (others.length === 0) return null;
  return (
    <div className="fault" role="alert">
      {others.map(({ code, message }) => (
        <p key={`${code} ${message}`}>{message}</p>
      ))}
    </div>
  );
}
