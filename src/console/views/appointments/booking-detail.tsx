import type { ReactElement } from 'react';
import type {
  AppointmentRowFragment,
  AppointmentStatus,
  BookingConfirmation,
} from '../../generated/index.js';
import { Facts } from '../../parts/facts.js';
import { SafeText } from '../../parts/safe-text.js';
import { Moment } from '../../parts/times.js';
import { sentence } from '../../parts/words.js';

const tones: Readonly<Record<AppointmentStatus, string>> = {
  BOOKED: 'blue',
  FULFILLED: 'green',
  CANCELLED: 'plain',
  NOSHOW: 'red',
};

/** The reference of the patient. */
export function patientOf({ participants }: AppointmentRowFragment): string {
  const references = participants.map(({ actor }) => actor.reference);
  return references.find((reference) => reference.startsWith('Patient/')) ?? references[0] ?? '–';
}

/** An appointment's status in its color. */
export function StatusBadge({ status }: { readonly status: AppointmentStatus }): ReactElement {
  return (
    <span className="badge" data-tone={tones[status]}>
      {sentence(status)}
    </span>
  );
}

/** Nothing where the booking is known to be accepted. */
export function ConfirmationBadge(props: {
  readonly confirmation: BookingConfirmation;
}): ReactElement | null {
  if (props.confirmation === 'CONFIRMED') return null;
  return (
    <span className="badge" data-tone="amber">
      Unconfirmed
    </span>
  );
}

/** One booking, and what it means that it is not confirmed. */
export function BookingDetail({ booking }: { readonly booking: AppointmentRowFragment }): ReactElement {
  const { start, end, status, confirmation, participants, upstreamId, bookedAt, bookedBy } = booking;
  return (
    <>
      <h2>
        <SafeText>{patientOf(booking)}</SafeText>
      </h2>
      <p className="timeline-head">
        <StatusBadge status={status} />
        <ConfirmationBadge confirmation={confirmation} />
      </p>
      {confirmation === 'UNCONFIRMED' && (
        <p className="notice">
          The appointment service did not say what became of this booking: the call was cut off or took too
          long, so it may or may not be booked there. It is never sent a second time by itself. Look in the
          appointment service before you book it again.
        </p>
      )}
      <Facts
        facts={[
          ['Starts', <Moment key="start" at={start} />],
          ['Ends', <Moment key="end" at={end} />],
          ['Booked by', bookedBy],
          ['Booked', <Moment key="booked" at={bookedAt} />],
          ['The service’s own id', upstreamId],
        ]}
      />
      <h3>Participants</h3>
      <ul className="people">
        {participants.map(({ actor, status: part }) => (
          <li key={actor.reference}>
            <span className="mono">
              <SafeText>{actor.reference}</SafeText>
            </span>
            <span className="quiet">{sentence(part)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
