import notesPage from './samples/notes-page.graphql?raw';
import bookAppointment from './samples/book-appointment.graphql?raw';
import shipments from './samples/shipments.graphql?raw';
import shipmentUpdates from './samples/shipment-updates.graphql?raw';
import payments from './samples/payments.graphql?raw';

/** An operation that waits in a tab, with its variables as JSON. */
interface Sample {
  readonly query: string;
  readonly variables: string;
}

function sample(query: string, variables: object): Sample {
  return { query, variables: JSON.stringify(variables, null, 2) };
}

/** The tabs of a first visit, in the order in which they are best read. */
export const samples: Sample[] = [
  sample(notesPage, { first: 5 }),
  sample(bookAppointment, { input: tomorrowAtNine() }),
  sample(shipments, { first: 5 }),
  sample(shipmentUpdates, { after: null }),
  sample(payments, { first: 5 }),
];

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
    idempotencyKey: crypto.randomUUID(),
  };
}
