import notesPage from './samples/notes-page.graphql?raw';
import bookAppointment from './samples/book-appointment.graphql?raw';
import shipments from './samples/shipments.graphql?raw';
import shipmentUpdates from './samples/shipment-updates.graphql?raw';
import payments from './samples/payments.graphql?raw';

/** An operation to open in a tab, with its variables as JSON. */
interface Sample {
  readonly query: string;
  readonly variables?: string;
}

/** The tabs shown on a first visit, in the order in which they are best read. */
export const samples: Sample[] = [
  { query: notesPage }, // GraphiQL shows no variables in the first tab
  { query: bookAppointment, variables: json({ input: tomorrowAtNine() }) },
  { query: shipments, variables: json({ first: 5 }) },
  { query: shipmentUpdates, variables: json({ after: null }) },
  { query: payments, variables: json({ first: 5 }) },
];

function json(variables: object): string {
  return JSON.stringify(variables, null, 2);
}

function tomorrowAtNine(): object {
  const day = new Date(Date.now() + 24 * 60 * 60 * 1000).toISOString().slice(0, 10);
  return {
    status: 'BOOKED',
    start: `${day}T09:00:00Z`,
    end: `${day}T09:30:00Z`,
    participants: [
      { actor: { reference: 'Patient/42' }, status: 'ACCEPTED' },
      { actor: { reference: 'Practitioner/7' }, status: 'NEEDS_ACTION' },
    ],
    // Not `randomUUID`, which browsers offer only at https and loopback addresses.
    idempotencyKey: crypto.getRandomValues(new Uint32Array(4)).join('-'),
  };
}
