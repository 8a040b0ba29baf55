import { useCallback, useMemo, type ComponentProps, type ReactElement } from 'react';
import { goTo, hrefOf } from '../../app/router.js';
import type { ViewProps } from '../../app/shell.js';
import { useGateway } from '../../data/use-gateway.js';
import { usePages } from '../../data/use-pages.js';
import { AppointmentsDocument, type AppointmentRowFragment } from '../../generated/index.js';
import { useGrant } from '../../parts/no-grant.js';
import { Loading, Problem } from '../../parts/problem.js';
import { Split } from '../../parts/split.js';
import { msOf } from '../../data/instant.js';
import { Agenda } from './agenda.js';
import { BookingForm } from './booking-form.js';
import { BookingDetail } from './booking-detail.js';
import { addDays, dayFrom, dayName, daysOf, weekOf } from './week.js';
import { WeekGrid } from './week-grid.js';

const pageSize = 100;
/** The `id` in the address of a booking that is being made. */
const newId = 'new';

const takesGrant = (
  <>
    Booking takes the grant <code>appointments:write</code>.
  </>
);

const onlyOwn = (
  <>
    These are your own bookings. Those of others take the grant <code>appointments:read</code>.
  </>
);

/** The bookings of a week, as a grid or as an agenda, and a form to book. */
export function AppointmentsView({ place }: ViewProps): ReactElement {
  const { params, id } = place;
  const monday = weekOf(dayFrom(params['week']));
  const pages = useWeek(monday);
  const isAgenda = params['as'] === 'agenda';
  const bookings = useMemo(
    () => pages.rows.toSorted((one, other) => msOf(one.start) - msOf(other.start)),
    [pages.rows],
  );
  const mayBook = useGrant('APPOINTMENTS_WRITE');
  const hrefWith = (change: Readonly<Record<string, string | undefined>>): string =>
    hrefOf('appointments', id, { ...params, ...change });
  const show = {
    bookings,
    days: daysOf(monday),
    isWhole: pages.hasBegun && !pages.hasMore,
    selected: id,
    hrefOfOne: (one: string) => hrefOf('appointments', one, params),
  };
  return (
    <Split
      title="Appointments"
      id={id}
      closeHref={hrefOf('appointments', undefined, params)}
      detailLabel="Appointment"
      actions={
        mayBook ? (
          <a className="button primary" href={hrefOf('appointments', newId, params)}>
            Book
          </a>
        ) : (
          <span className="quiet small">{takesGrant}</span>
        )
      }
      filters={<WeekBar monday={monday} isAgenda={isAgenda} hrefWith={hrefWith} />}
      list={<WeekBox pages={pages}>{isAgenda ? <Agenda {...show} /> : <WeekGrid {...show} />}</WeekBox>}
      detail={detailOf(id, {
        bookings,
        mayBook,
        pages,
        isWhole: show.isWhole,
        booked: pages.reload,
        leave({ id: booked, start }) {
          goTo(hrefOf('appointments', booked, { ...params, week: weekName(start, monday) }));
        },
      })}
    />
  );
}

function useWeek(monday: Date) {
  const gateway = useGateway();
  const from = monday.toISOString();
  const to = addDays(monday, 7).toISOString();
  const load = useCallback(
    async (after: string | undefined) =>
      (await gateway.ask(AppointmentsDocument, { first: pageSize, after, filter: { from, to } }))
        .appointments,
    [gateway, from, to],
  );
  return usePages<AppointmentRowFragment>(load);
}

interface WeekBoxProps {
  readonly pages: ReturnType<typeof useWeek>;
  readonly children: ReactElement;
}

/** The bookings, and what is to be said of their pages. */
function WeekBox({ pages, children }: WeekBoxProps): ReactElement {
  const areAll = useGrant('APPOINTMENTS_READ');
  const { rows, hasMore, loading, error } = pages;
  return (
    <div className="week-box">
      {!areAll && <p className="quiet small">{onlyOwn}</p>}
      <Problem error={error} retry={pages.retry} busy={loading} />
      {children}
      {hasMore && rows.length > 0 ? (
        <button className="button small list-end" type="button" onClick={error ? pages.retry : pages.more}>
          {loading ? 'Loading …' : 'More of this week'}
        </button>
      ) : (
        loading && (
          <p className="list-end" role="status">
            Loading …
          </p>
        )
      )}
    </div>
  );
}

interface DetailProps extends ComponentProps<typeof BookingForm> {
  readonly bookings: readonly AppointmentRowFragment[];
  readonly mayBook: boolean;
  readonly pages: ReturnType<typeof useWeek>;
  readonly isWhole: boolean;
}

function detailOf(
  id: string | undefined,
  { bookings, mayBook, pages, isWhole, ...form }: DetailProps,
): ReactElement | undefined {
  if (id === undefined) return undefined;
  if (id === newId) return mayBook ? <BookingForm {...form} /> : <p className="quiet">{takesGrant}</p>;
  const booking = bookings.find((one) => one.id === id);
  if (booking) return <BookingDetail booking={booking} />;
  if (!pages.hasBegun) return <Loading of={pages} />;
  const missing = isWhole
    ? 'It is not in this week.'
    : 'It is not among the bookings that are loaded so far.';
  return <p className="quiet">{missing}</p>;
}

function weekName(start: string, monday: Date): string {
  const ms = msOf(start);
  return dayName(Number.isNaN(ms) ? monday : weekOf(new Date(ms)));
}

const monthAndYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric' });

interface WeekBarProps {
  readonly monday: Date;
  readonly isAgenda: boolean;
  readonly hrefWith: (change: Readonly<Record<string, string | undefined>>) => string;
}

function WeekBar({ monday, isAgenda, hrefWith }: WeekBarProps): ReactElement {
  const week = (days: number): string => hrefWith({ week: dayName(addDays(monday, days)) });
  return (
    <div className="week-bar">
      <div className="form-actions">
        <a className="button small" href={week(-7)} aria-label="The week before">
          ←
        </a>
        <a className="button small" href={hrefWith({ week: undefined })}>
          This week
        </a>
        <a className="button small" href={week(7)} aria-label="The week after">
          →
        </a>
      </div>
      <b>Week of {monthAndYear.format(monday)}</b>
      <div className="form-actions">
        <a
          className="button small"
          href={hrefWith({ as: undefined })}
          aria-current={isAgenda ? undefined : 'true'}
        >
          Week
        </a>
        <a
          className="button small"
          href={hrefWith({ as: 'agenda' })}
          aria-current={isAgenda ? 'true' : undefined}
        >
          Agenda
        </a>
      </div>
    </div>
  );
}
