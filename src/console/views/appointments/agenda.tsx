import type { ReactElement } from 'react';
import { SafeText } from '../../parts/safe-text.js';
import { Moment } from '../../parts/times.js';
import { ConfirmationBadge, StatusBadge, patientOf } from './booking-detail.js';
import { isOn } from './week.js';
import type { WeekProps } from './week-grid.js';

const fullDay = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long' });

/** A week's bookings, one after the other. */
export function Agenda({ bookings, days, isWhole, selected, hrefOfOne }: WeekProps): ReactElement | null {
  const busy = days
    .map((day) => ({ day, ofDay: bookings.filter(({ start }) => isOn(day, start)) }))
    .filter(({ ofDay }) => ofDay.length > 0);
  if (busy.length === 0) return isWhole ? <p className="empty">Nothing is booked in this week.</p> : null;
  return (
    <div className="agenda">
      {busy.map(({ day, ofDay }) => (
        <section key={day.getTime()} aria-label={fullDay.format(day)}>
          <h2>{fullDay.format(day)}</h2>
          <ul>
            {ofDay.map((one) => (
              <li key={one.id}>
                <a
                  className="agenda-row"
                  href={hrefOfOne(one.id)}
                  aria-current={one.id === selected ? 'true' : undefined}
                >
                  <span className="figure">
                    <Moment at={one.start} form="minute" />–
                    <Moment at={one.end} form="minute" />
                  </span>
                  <span className="cut">
                    <SafeText>{patientOf(one)}</SafeText>
                  </span>
                  <StatusBadge status={one.status} />
                  <ConfirmationBadge confirmation={one.confirmation} />
                </a>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}
