import { placeText, witnessOf } from '../../../dist/events/log/log-position.js';
import { createPaymentFold } from '../../../dist/domains/payments/state.js';
import { createShipmentFold } from '../../../dist/domains/shipments/state.js';
import { replaceLog, storedLog } from './log-hook.js';

/** @typedef {import('../../../dist/events/log/log.js').LogEntry} LogEntry */

/** How many of the last entries can be read. */
const recent = 10_000;

/**
 * Loaded into a gateway, it replaces only the log, by one in memory: live updates are all as they are, except that no
 * event is written or read.
 * @type {typeof storedLog.createLog}
 */
export function createLog(options) {
  const stored = storedLog.createLog(options);
  /** @type {Readonly<Record<string, import('../../../dist/events/log/projection.js').Fold<any, any>>>} */
  const folds = { shipments: createShipmentFold(), payments: createPaymentFold({ unit: 'auto' }) };
  /** @type {Map<number, LogEntry>} */
  const entries = new Map();
  const states = new Map();
  const ids = new Set();
  let head = 0;

  /** @type {typeof stored.append} */
  async function append({ family, eventId, type, receivedAt, body, known }) {
    const key = `${family} ${eventId}`;
    if (ids.has(key)) return 'duplicate';
    ids.add(key);
    const seq = (head += 1);
    const entity = known && `${family} ${known.entityId}`;
    const state = known && folds[family].apply(states.get(entity), known.event, seq);
    if (known) states.set(entity, state);
    const witness = witnessOf(family, eventId, Date.parse(receivedAt));
    const what = { family, eventId, type, receivedAt, entityId: known && known.entityId };
    entries.set(seq, {
      seq,
      witness,
      ...what,
      event: known && known.event,
      entity: state,
      weight: 2 * body.length,
    });
    entries.delete(seq - recent);
    options.database.signal('log', placeText({ seq, witness }));
    return 'stored';
  }

  /** @param {number} after @param {number} limit */
  function read(after, limit) {
    const last = Math.min(head, after + limit);
    return Array.from({ length: Math.max(0, last - after) }, (_, at) => entries.get(after + at + 1)).filter(
      (entry) => entry !== undefined,
    );
  }

  return {
    ...stored,
    append,
    appended: () => head,
    bounds: async () => ({ ...(await stored.bounds()), head }),
    place: async (seq) => entries.get(seq),
    read: async (after, limit) => read(after, limit),
    readOn: async (after, limit) => ({ place: entries.get(after), entries: read(after, limit) }),
  };
}

replaceLog(import.meta.url);
