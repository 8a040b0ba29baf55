import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAppointmentsClient } from './domains/appointments/service/client.js';
import { Bookings } from './domains/appointments/booking/bookings.js';
import { Appointments } from './domains/appointments/appointments.js';
import { LightAbortController } from './lib/async/abort.js';
import { systemClock, type Clock } from './lib/clock.js';
import type { GatewayConfig } from './config/config.js';
import { createContexts } from './api/context.js';
import { createFeed } from './events/feed/feed.js';
import { createDeliveries } from './events/deliveries/deliveries.js';
import { createDeliveryRecorder } from './events/deliveries/delivery-recorder.js';
import { showLastAccepted } from './events/deliveries/last-accepted.js';
import { createLiveDeliveries } from './events/deliveries/live-deliveries.js';
import { RecentDeliveries } from './events/deliveries/recent-deliveries.js';
import { createLog } from './events/log/log.js';
import { Relay } from './events/relay/relay.js';
import type { PublisherOptions } from './events/relay/publisher.js';
import { Receiver } from './events/webhooks/receiver.js';
import { createSecrets } from './events/secrets/secrets.js';
import { createNotesAccess } from './domains/notes/notes.js';
import { createNotesClient } from './domains/notes/service/client.js';
import { createPaymentsClient } from './domains/payments/service/client.js';
import { createPayments } from './domains/payments/family.js';
import { createBodyReader, createWebhookFamilies, recordDeliveries } from './api/webhook-families.js';
import { createCursors } from './graphql/cursors.js';
import { createSchema } from './api/schema.js';
import { clientSdl } from './api/schema-text.js';
import { SpareThread } from './lib/async/thread.js';
import { lazy } from './lib/lazy.js';
import { MemoryLedger } from './lib/memory/memory-ledger.js';
import { createSealer } from './lib/sealer.js';
import type { SandboxInfo } from './server/pages/pages.js';
import { startServer } from './server/server.js';
import { watchDocuments } from './server/documents/watched-manifest.js';
import { ownDocuments } from './generated/own-documents.js';
import { countFailures, countLists, OperationTally } from './server/operation/cost/field-tally.js';
import { Grants, type GrantTable } from './domains/sessions/grants.js';
import { createSessions } from './domains/sessions/sessions.js';
import { toUser } from './domains/sessions/user.js';
import { createShipments } from './domains/shipments/family.js';
import { createEndpoints } from './domains/webhooks/endpoints.js';
import { openDatabase } from './store/database.js';
import { keyBeside } from './store/key-file.js';
import { createKeyv } from './store/sealed-keyv.js';
import { Reads } from './store/sql/read-budget.js';
import { createTelemetry, type Telemetry } from './lib/telemetry/telemetry.js';

/** A running gateway. */
export interface Gateway {
  /** Where it listens. */
  readonly url: string;
  /** Where it serves `/metrics`. */
  readonly metricsUrl: string;
  /** Resolves when it cannot go on: it should be stopped and the process ended, so that a supervisor starts another. */
  readonly failed: Promise<Error>;
  /** From now on these grants hold; what a live subscription may no longer see ends. */
  regrant(table: GrantTable): void;
  /** Lets requests in flight finish; takes 10 seconds at most. Rejects with the first failure of a part to stop. */
  stop(): Promise<void>;
}

/** Parts that a test may replace. */
export interface GatewayParts {
  readonly clock?: Clock;
  readonly telemetry?: Telemetry;
  /** How long a call to an upstream service may take. */
  readonly upstreamTimeoutMs?: number;
  /** The sandbox beside the gateway, for its console. */
  readonly sandbox?: SandboxInfo;
  /** How often a stream shows that it is alive. */
  readonly streamBeatMs?: number;
  /** The program of the thread that writes an embedded database. */
  readonly writer?: URL;
}

const isSource = import.meta.url.endsWith('.ts');

/** What is loaded by its address, and not imported. Only `main` and this module have such addresses. */
const modules = {
  manifest: new URL('../package.json', import.meta.url),
  writer: new URL(isSource ? './api/writer-thread.ts' : './api/writer-thread.js', import.meta.url),
  bodyReader: new URL(isSource ? './api/body-reader.ts' : './api/body-reader.js', import.meta.url),
  docs: new URL(isSource ? '../dist/docs/' : './docs/', import.meta.url),
  schema: new URL('../schema/', import.meta.url),
  clientPackage: new URL(isSource ? '../dist/client.tgz' : './client.tgz', import.meta.url),
  pages: new URL(isSource ? '../dist/console/' : './console/', import.meta.url),
};

/** `stop` returns after this time, whatever hangs. */
const maxStopMs = 8_800;

/** Builds every part and starts to listen; if one fails, the parts begun before it are stopped again. */
export async function startGateway(config: GatewayConfig, parts: GatewayParts = {}): Promise<Gateway> {
  const {
    clock = systemClock,
    telemetry = createTelemetry(config.logLevel),
    upstreamTimeoutMs,
    streamBeatMs,
    writer = modules.writer,
  } = parts;
  const { upstreams } = config;
  const { begun, stop } = createLifecycle(telemetry);
  const running = version();
  telemetry.metrics.build.of(running).value = 1;

  try {
    const [firstKey = keyBeside(config.databaseUrl), ...olderKeys] = config.secretKeys ?? [];
    const sealer = createSealer([firstKey, ...olderKeys]);
    const cursors = createCursors(sealer);
    const listenUrl = config.databaseListenUrl;
    const opening = openDatabase(config.databaseUrl, { writer, listenUrl, log: telemetry.log });
    // While the database is opened, by a thread of its own or over the network.
    const schema = countFailures(countLists(createSchema(modules.schema, config.introspection)));
    const database = begun(await opening);
    void database.lost.then((err) =>
      telemetry.log.fatal({ err }, 'this process can no longer write to the database and must exit'),
    );
    const calls = {
      telemetry,
      clock,
      ...(upstreamTimeoutMs !== undefined && { timeoutMs: upstreamTimeoutMs }),
    };

    const notesClient = begun(createNotesClient({ ...upstreams.notes, ...calls }));
    const keyv = createKeyv({ database, sealer, clock, namespace: 'tokens' });
    const appointmentsClient = begun(
      createAppointmentsClient({ ...upstreams.appointments, ...calls, keyv, database }),
    );
    const bookings = begun(new Bookings({ client: appointmentsClient, database, clock, telemetry }));
    const paymentsClient = begun(createPaymentsClient({ ...upstreams.payments, ...calls }));

    const grants = new Grants(config.grants ?? new Map());
    const sessions = begun(
      createSessions({ database, notes: notesClient, sealer, clock, grants, telemetry }),
    );
    const unit = config.paymentsCreatedUnit;
    const families = createWebhookFamilies(config);
    const configured = upstreams.webhooks;
    const webhookSecrets = begun(
      await createSecrets({ database, sealer, clock, telemetry, families, configured }),
    );
    const commit = await database.procedure(recordDeliveries, { unit });
    const { retentionDays } = config;
    const log = begun(createLog({ database, commit, clock, telemetry, retentionDays }));
    const relay = relayOf(config, { log, database, sealer, telemetry });
    if (relay) begun(relay);
    const feed = begun(await createFeed({ log, database, cursors, telemetry, relay }));
    const shipmentsOf = createShipments({ database });
    const paymentsOf = createPayments({ database });
    const recentDeliveries = new RecentDeliveries();
    const deliveriesOf = (reads: Reads) => createDeliveries({ database, reads }, recentDeliveries);
    await showLastAccepted(
      webhookSecrets.endpoints,
      deliveriesOf(new Reads(new LightAbortController())),
      telemetry,
    );
    const lastSeq = () => Math.max(log.appended(), feed.position().seq);
    const live = begun(createLiveDeliveries({ database, log, telemetry, lastSeq }));
    const recorder = createDeliveryRecorder({
      families,
      secrets: webhookSecrets,
      recent: recentDeliveries,
      clock,
      lastSeq,
      publish: (delivery) => live.broadcast.offer(delivery),
    });
    const memory = new MemoryLedger(telemetry);
    const receiver = new Receiver({
      families,
      secrets: webhookSecrets,
      log,
      recorder,
      clock,
      telemetry,
      ledger: memory,
      readLong: createBodyReader(config, begun(new SpareThread(modules.bodyReader, 'body reader'))),
    });
    let address = config.publicUrl ?? '';

    const makeContext = createContexts(
      {
        sessions,
        grantsOf: (email) => grants.of(email),
        bookings,
        paymentsClient,
        webhookSecrets,
        webhookEndpoints: createEndpoints(webhookSecrets, () => address),
        liveDeliveries: live.broadcast,
        feed,
        cursors,
      },
      {
        me: async (token, signal) => toUser(await notesClient.me(token, signal)),
        notes: createNotesAccess({ client: notesClient, cursors, telemetry }),
        notesLimit: (token) => notesClient.limitOf(token),
        stored(signal) {
          const reads = new Reads(signal);
          return {
            appointments: new Appointments(database, reads),
            shipments: shipmentsOf(reads),
            payments: paymentsOf(reads),
            deliveries: deliveriesOf(reads),
          };
        },
        tally: () => new OperationTally(),
        endSession: (sessionId) => sessions.revoke(sessionId),
      },
    );

    const trusted = begun(await watchDocuments(config.trustedDocuments, ownDocuments, telemetry));
    const server = begun(
      await startServer({
        ...config,
        ledger: memory,
        documents: trusted.documents,
        docs: modules.docs,
        streamBeatMs,
        schema,
        sdl: lazy(() => clientSdl(modules.schema)),
        makeContext,
        sessions,
        receiver,
        feed,
        database,
        telemetry,
        abandonCalls() {
          // Not those to the payment service: a secret that comes while there is time is taken into use.
          for (const client of [notesClient, appointmentsClient]) void client.stop();
        },
        pageSettings: {
          version: running,
          signatureTimes: Object.fromEntries(
            families.map(({ name, scheme: { maxAge, maxAhead } }) => [name, { maxAge, maxAhead }]),
          ),
          sandbox: parts.sandbox,
        },
        clientPackage: modules.clientPackage,
        pages: modules.pages,
      }),
    );
    address ||= server.url;
    const { url, metricsUrl } = server;
    return { url, metricsUrl, failed: database.lost, regrant: (table) => grants.replace(table), stop };
  } catch (error) {
    await stop().catch(() => undefined); // logged already, and not why the start failed
    throw error;
  }
}

/** Only where there can be other replicas. */
function relayOf({ natsServers }: GatewayConfig, options: PublisherOptions): Relay | undefined {
  const isShared = options.database.engine === 'postgres';
  return natsServers && isShared ? new Relay({ ...options, servers: natsServers }) : undefined;
}

/** The version of this package, whose file lies beside `src` as beside `dist`. */
function version(): string {
  const file = readFileSync(modules.manifest, 'utf8');
  return (JSON.parse(file) as { readonly version: string }).version;
}

/** What starts one after another, and stops in reverse order. */
function createLifecycle({ log }: Pick<Telemetry, 'log'>) {
  const parts: { stop(): unknown }[] = [];

  /** Stops every part, even if others fail to stop; then throws the first failure. */
  async function stopAll(): Promise<void> {
    const faults: unknown[] = [];
    for (const part of parts.splice(0).toReversed()) {
      try {
        await part.stop();
      } catch (err) {
        log.error({ err }, 'a component failed to stop');
        faults.push(err);
      }
    }
    if (faults.length > 0) throw faults[0];
  }

  return {
    /** Registers a part to be stopped. */
    begun<T extends { stop(): unknown }>(part: T): T {
      parts.push(part);
      return part;
    },
    /** A database that does not answer cannot hold it up: what is not stored was not acknowledged, and is sent again. */
    async stop(): Promise<void> {
      const late = sleep(maxStopMs, 'late', { ref: false });
      if ((await Promise.race([stopAll(), late])) === 'late')
        log.error('shutdown timed out: what was still in progress was not acknowledged');
    },
  };
}
