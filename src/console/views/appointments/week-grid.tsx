import type { ReactElement } from 'react';
import type { AppointmentRowFragment } from '../../generated/index.js';
import { SafeText } from '../../parts/safe-text.js';
import { Moment } from '../../parts/times.js';
import { sentence } from '../../parts/words.js';
import { isOn } from './week.js';
import { patientOf } from './booking-detail.js';

/** What a week is shown from. */
export interface WeekProps {
  /** By their start. */
  readonly bookings: readonly AppointmentRowFragment[];
  readonly days: readonly Date[];
  /** Whether all bookings of these days are there: else a day without any may not be free. */
  readonly isWhole: boolean;
  readonly selected: string | undefined;
  readonly hrefOfOne: (id: string) => string;
}

const weekday = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric' });

/** Seven days beside each other. */
export function WeekGrid({ bookings, days, isWhole, selected, hrefOfOne }: WeekProps): ReactElement {
  return (
    <ol className="week">
      {days.map((day) => {
        const ofDay = bookings.filter(({ start }) => isOn(day, start));
        return (
          <li key={day.getTime()} data-today={isOn(day, new Date().toISOString())}>
            <h2>{weekday.format(day)}</h2>
            {ofDay.length === 0 ? (
              <p className="quiet small week-free">{isWhole ? '–' : '…'}</p>
            ) : (
              <ul>
                {ofDay.map((one) => (
                  <li key={one.id}>
                    <a
                      className="slot"
                      data-doubt={one.confirmation === 'UNCONFIRMED'}
                      data-off={one.status !== 'BOOKED'}
                      href={hrefOfOne(one.id)}
                      aria-current={one.id === selected ? 'true' : undefined}
                    >
                      <b className="figure">
                        <Moment at={one.start} form="minute" />
                      </b>
                      <span className="cut">
                        <SafeText>{patientOf(one)}</SafeText>
                      </span>
                      {one.status !== 'BOOKED' && <span className="small">{sentence(one.status)}</span>}
                      {one.confirmation === 'UNCONFIRMED' && <span className="small">Unconfirmed</span>}
                    </a>
                  </li>
                ))}
              </ul>
            )}
          </li>
        );
      })}
    </ol>
  );
}
