import { use, useRef, useState, type ReactElement, type SubmitEvent } from 'react';
import { useUnsaved } from '../../app/unsaved.js';
import { useIsShown, useMutation } from '../../data/use-mutation.js';
import {
  CreateAppointmentDocument,
  type AppointmentRowFragment,
  type AppointmentStatus,
  type ParticipantStatus,
} from '../../generated/index.js';
import { useDraft } from '../../parts/draft.js';
import {
  ChoiceField,
  Field,
  Locked,
  OtherErrors,
  useUserErrors,
  type UserErrors,
} from '../../parts/field.js';
import { Problem } from '../../parts/problem.js';
import { tomorrowAt, withOffset } from './week.js';

const statuses: readonly AppointmentStatus[] = ['BOOKED', 'CANCELLED', 'FULFILLED', 'NOSHOW'];
const parts: readonly ParticipantStatus[] = ['ACCEPTED', 'NEEDS_ACTION', 'TENTATIVE', 'DECLINED'];

interface Participant {
  readonly reference: string;
  readonly status: ParticipantStatus;
}

interface BookingFormProps {
  readonly booked: () => void;
  /** Goes to what was booked. */
  readonly leave: (appointment: AppointmentRowFragment) => void;
}

/** A form to book; what is wrong is said beside its field. */
export function BookingForm({ booked, leave }: BookingFormProps): ReactElement {
  const draft = useDraft<Booking>({
    start: tomorrowAt(9),
    end: tomorrowAt(9, 30),
    status: 'BOOKED',
    participants: [{ reference: 'Patient/', status: 'ACCEPTED' }],
  });
  const { book, form, errors, busy, error } = useBooking(booked, leave);
  useUnsaved(draft.isChanged);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (!busy) void book(draft.values);
  };
  const paths = [
    'start',
    'end',
    'status',
    ...draft.values.participants.map((_, index) => referencePath(index)),
  ];
  return (
    <form className="form" ref={form} onSubmit={submit} noValidate>
      <h2>Book an appointment</h2>
      <Locked value={busy}>
        <BookingFields draft={draft} errors={errors} />
      </Locked>
      <OtherErrors errors={errors} paths={paths} />
      <Problem error={error} />
      {error && (
        <p className="quiet">Booking again with nothing changed is safe: it is booked at most once.</p>
      )}
      <div className="form-actions">
        <button className="button primary" type="submit" aria-disabled={busy}>
          {busy ? 'Booking …' : 'Book'}
        </button>
      </div>
    </form>
  );
}

interface BookingFieldsProps {
  readonly draft: ReturnType<typeof useDraft<Booking>>;
  readonly errors: UserErrors;
}

function BookingFields({ draft, errors }: BookingFieldsProps): ReactElement {
  const { start, end, status, participants } = draft.values;
  return (
    <>
      <div className="form-row">
        <TimeField
          label="Starts"
          path="start"
          errors={errors}
          value={start}
          change={(at) => draft.set({ start: at })}
        />
        <TimeField
          label="Ends"
          path="end"
          errors={errors}
          value={end}
          change={(at) => draft.set({ end: at })}
        />
        <ChoiceField
          label="Status"
          path="status"
          errors={errors}
          values={statuses}
          value={status}
          change={(next) => draft.set({ status: next })}
        />
      </div>
      <Participants
        participants={participants}
        change={(next) => draft.set({ participants: next })}
        errors={errors}
      />
    </>
  );
}

interface TimeFieldProps {
  readonly label: string;
  readonly path: string;
  readonly errors: UserErrors;
  readonly value: string;
  readonly change: (value: string) => void;
}

function TimeField({ value, change, ...field }: TimeFieldProps): ReactElement {
  return (
    <Field {...field}>
      {(state) => (
        <input
          type="datetime-local"
          value={value}
          onChange={({ target }) => change(target.value)}
          {...state}
        />
      )}
    </Field>
  );
}

const referencePath = (index: number): string => `participants.${index}.actor.reference`;

interface ParticipantsProps {
  readonly participants: readonly Participant[];
  readonly change: (next: readonly Participant[]) => void;
  readonly errors: UserErrors;
}

function Participants({ participants, change, errors }: ParticipantsProps): ReactElement {
  const replace = (index: number, part: Partial<Participant>): void =>
    change(participants.map((one, place) => (place === index ? { ...one, ...part } : one)));
  const isLocked = use(Locked);
  const adding = useRef<HTMLButtonElement>(null);
  const add = (): void => {
    if (!isLocked) change([...participants, { reference: 'Practitioner/', status: 'NEEDS_ACTION' }]);
  };
  const removeLast = (): void => {
    if (isLocked) return;
    if (participants.length === 2) adding.current?.focus(); // there is nothing more to remove
    change(participants.slice(0, -1));
  };
  return (
    <fieldset className="field">
      <legend>Participants</legend>
      <p className="quiet small">One has to be a patient, as Patient/42.</p>
      {participants.map((one, index) => (
        <div className="form-row" key={index}>
          <Field label={`Participant ${index + 1}`} path={referencePath(index)} errors={errors}>
            {(state) => (
              <input
                value={one.reference}
                spellCheck={false}
                onChange={({ target }) => replace(index, { reference: target.value })}
                {...state}
              />
            )}
          </Field>
          <ChoiceField
            label="Takes part"
            path={`participants.${index}.status`}
            errors={errors}
            values={parts}
            value={one.status}
            change={(value) => replace(index, { status: value })}
          />
        </div>
      ))}
      <div className="form-actions">
        <button className="button small" type="button" ref={adding} onClick={add} aria-disabled={isLocked}>
          Add another
        </button>
        {participants.length > 1 && (
          <button className="button small" type="button" onClick={removeLast} aria-disabled={isLocked}>
            Remove the last
          </button>
        )}
      </div>
    </fieldset>
  );
}

interface Booking {
  readonly start: string;
  readonly end: string;
  readonly status: AppointmentStatus;
  readonly participants: readonly Participant[];
}

/** Books under one key as long as the input stays the same, so that a second click cannot book twice. */
function useBooking(booked: BookingFormProps['booked'], leave: BookingFormProps['leave']) {
  const { run, busy, error } = useMutation(CreateAppointmentDocument);
  const { form, errors, setErrors } = useUserErrors();
  const isShown = useIsShown();
  const [attempt, setAttempt] = useState({ of: '', key: '' });

  async function book({ start, end, status, participants }: Booking): Promise<void> {
    const input = {
      status,
      start: withOffset(start),
      end: withOffset(end),
      participants: participants.map(({ reference, status: part }) => ({
        actor: { reference },
        status: part,
      })),
    };
    const of = JSON.stringify(input);
    const idempotencyKey = attempt.of === of ? attempt.key : newKey();
    setAttempt({ of, key: idempotencyKey });
    setErrors([]);
    const payload = (await run({ input: { ...input, idempotencyKey } }))?.createAppointment;
    if (!payload) return;
    setErrors(payload.errors);
    if (!payload.appointment) return;
    booked();
    if (isShown()) leave(payload.appointment);
  }
  return { book, form, errors, busy, error };
}

/** Not `randomUUID`, which browsers offer only at https and loopback addresses. */
function newKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}
