/** An event as a time line places it. */
export interface Placed<Event> {
  readonly event: Event;
  /** When it occurred, in milliseconds; undefined if that cannot be read. */
  readonly occurredMs: number | undefined;
  /** It came after another that occurred later. */
  readonly isOutOfOrder: boolean;
  /** How long after it occurred it came, where that is long. */
  readonly lateByMs: number | undefined;
}

/** A delivery that was retried comes minutes late; one that was not takes seconds. */
const lateMs = 2 * 60_000;

/**
 * Events in the order in which they occurred, newest first, each marked as late or out of order. They are given in log
 * order, newest first, as the gateway lists them.
 */
export function timeline<Event extends { readonly receivedAt: string }>(
  events: readonly Event[],
  occurred: (event: Event) => number,
): readonly Placed<Event>[] {
  let newest = -Infinity;
  /** Of the event that came before, in milliseconds: one whose time cannot be read is shown just above that. */
  let place = -Infinity;
  const placed = events.toReversed().map((event) => {
    const ms = occurred(event);
    if (Number.isNaN(ms))
      return { event, place, occurredMs: undefined, isOutOfOrder: false, lateByMs: undefined };
    place = ms;
    const isOutOfOrder = ms < newest;
    newest = Math.max(newest, ms);
    const lateBy = Date.parse(event.receivedAt) - ms;
    return { event, place, occurredMs: ms, isOutOfOrder, lateByMs: lateBy > lateMs ? lateBy : undefined };
  });
  return placed.toReversed().toSorted((one, other) => other.place - one.place || 0);
}
