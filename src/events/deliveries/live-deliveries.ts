import { LightAbortController } from '../../lib/async/abort.js';
import { createWarnings } from '../../lib/telemetry/rate-limited-log.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import type { WebhookDelivery } from '../../models/webhook.js';
import type { Database } from '../../store/database.js';
import { Reads } from '../../store/sql/read-budget.js';
import { Broadcast } from '../feed/broadcast.js';
import type { Log } from '../log/log.js';
import { readDeliveries } from './delivery-pages.js';

/** Deliveries as they come. */
export interface LiveDeliveries {
  readonly broadcast: Broadcast<WebhookDelivery>;
  /** Ends every subscription. */
  stop(): void;
}

interface Options {
  readonly database: Database;
  readonly log: Pick<Log, 'bounds'>;
  readonly telemetry: Telemetry;
  /** The log's last number, as far as it is known. */
  lastSeq(): number;
}

const pageSize = 100;
const pollMs = 1_000;
const inLog = { outcomes: ['STORED', 'SKIPPED'] } as const;

/**
 * Deliveries as they come: those of all replicas from the log, which is followed while anybody subscribes; others are
 * offered to the broadcast by whoever knows of them.
 */
export function createLiveDeliveries({ database, log, telemetry, lastSeq }: Options): LiveDeliveries {
  const warn = createWarnings(telemetry);
  const sent = telemetry.metrics.updates.of('live');
  const broadcast = new Broadcast<WebhookDelivery>(sent, (isThere) => (isThere ? begin() : end()));
  let seq = 0;
  let unlisten = () => {};
  let poll: NodeJS.Timeout | undefined;
  let reading = false;
  let again = false;

  function begin(): void {
    seq = lastSeq();
    unlisten = database.listen('log', () => void readOn());
    poll = setInterval(() => void readOn(), pollMs).unref();
    void readOn(); // `lastSeq` may be of the time before a restore
  }

  function end(): void {
    unlisten();
    clearInterval(poll);
  }

  async function readOn(): Promise<void> {
    again = true;
    if (reading) return;
    reading = true;
    try {
      while (again && broadcast.size > 0) {
        again = false;
        again = (await sendPage()) === pageSize || again;
      }
    } catch (err) {
      warn('webhook deliveries cannot be read for those who watch them; retrying', () => ({ err }));
    } finally {
      reading = false;
    }
  }

  /** Returns how many were read. */
  async function sendPage(): Promise<number> {
    const source = { database, reads: new Reads(new LightAbortController()) };
    const query = { limit: pageSize, backward: true, before: [seq, 0, ''] } as const;
    const deliveries = await readDeliveries(source, query, inLog, []);
    for (const delivery of deliveries) {
      const [next] = delivery.position;
      if (next <= seq) continue; // others subscribe by now, who came after it
      seq = next;
      await broadcast.send(delivery);
    }
    if (deliveries.length > 0) return deliveries.length;
    const reached = seq;
    const { head } = await log.bounds();
    // The log was restored from a backup; not if others subscribe by now, who came after `head` was read.
    if (seq === reached && head < seq) seq = head;
    return 0;
  }

  return { broadcast, stop: () => broadcast.stop() };
}
