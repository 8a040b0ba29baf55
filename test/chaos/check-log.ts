import type { Contents } from './contents.js';
import { findingsOf, repeated, type Finding } from './faults.js';
import type { Sent } from './sender.js';
import type { ReadModels } from './read-models.js';
import { differences, type Fields, type ExpectedEvent } from './expected.js';

/** Compares the log with what was acknowledged, and the entities with the log. */
export function checkLog(
  sent: readonly Sent[],
  contents: Contents,
  readModels: ReadModels,
  expected: ReadonlyMap<string, ExpectedEvent>,
): readonly Finding[] {
  const { ids, events, head } = contents;
  const known = new Set(ids.map(({ event_id }) => event_id));
  const kept = new Set(events.map(({ event_id }) => event_id));
  const lost = sent.filter(({ id, acknowledged }) => acknowledged && !(known.has(id) && kept.has(id)));
  return [
    ...findingsOf(
      'acknowledged and lost',
      lost.map(({ id }) => `${id} was acknowledged and is not stored`),
    ),
    ...findingsOf(
      'stored twice',
      repeated(events.map(({ event_id }) => event_id)).map(
        (id) => `${id} has more than one place in the log`,
      ),
    ),
    ...findingsOf('out of log order', findGaps(head, events)),
    ...findingsOf('folded wrongly', findWronglyFolded(readModels, expected)),
  ];
}

/** Readers of the log rely on consecutive numbers. */
function findGaps(head: number, events: Contents['events']): readonly string[] {
  const numbers = new Set(events.map(({ seq }) => seq));
  const missing = Array.from({ length: head }, (_, at) => at + 1).filter((seq) => !numbers.has(seq));
  const beyond = [...numbers].filter((seq) => seq > head);
  return [
    ...missing.map((seq) => `the log goes to ${head} and has no ${seq}`),
    ...beyond.map((seq) => `the log goes to ${head} and has ${seq}`),
  ];
}

function findWronglyFolded(
  { shipments, payments }: ReadModels,
  expected: ReadonlyMap<string, ExpectedEvent>,
): readonly string[] {
  const last = new Map([...expected.values()].map(({ entityId, entity }) => [entityId, entity]));
  const shown = new Map<string, Fields>([
    ...shipments.map((it) => [String(it['shipmentId']), it] as const),
    ...payments.map((it) => [String(it['paymentId']), it] as const),
  ]);
  return [...new Set([...last.keys(), ...shown.keys()])].flatMap((id) => {
    const [is, should] = [shown.get(id) ?? {}, last.get(id) ?? {}];
    const names = Object.keys({ ...is, ...should });
    return differences(is, should, names).map((difference) => `in the end ${id} has ${difference}`);
  });
}
