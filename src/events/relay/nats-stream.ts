import type { NatsConnection } from '@nats-io/transport-node';
import type { JetStreamManager } from '@nats-io/jetstream';
import type { NatsServers } from '../../config/nats-servers.js';

/** A connection to NATS, and the stream there that carries entries. Every failure is a rejection. */
export interface NatsStream {
  /** How long a message may be. */
  readonly maxBytes: number;
  /** Resolves with the number of the last message; 0 if there is none. Creates the stream anew if it is gone. */
  begin(): Promise<number>;
  /** Publishes a message; resolves with its number. Rejects unless `last` was that of the last one. */
  publish(message: string, last: number): Promise<number>;
  /**
   * Calls `take` with each message from now on; resolves when the connection ends. It hears the subject, not a consumer
   * of the stream: so it hears what the stream did not accept, too, and nothing a second time.
   */
  hear(take: (message: string) => void): Promise<void>;
  /** Resolves when the connection is lost or closed. */
  readonly closed: Promise<unknown>;
  close(): Promise<void>;
}

const nameOf = (id: string) => `trivium-${id}`;
const subjectOf = (id: string) => `trivium.${id}.entries`;
/** What the stream keeps: nobody reads it, but its last number says who publishes. */
const windowMs = 60_000;
const windowBytes = 16 * 1024 * 1024;
const timeoutMs = 5_000;
/** A server that hangs is noticed after three of these. */
const pingMs = 5_000;
/** A message may not be longer, whatever the server allows, and its headers take some of that. */
const maxMessageBytes = 1024 * 1024;
const headerBytes = 1_024;

/** Connects; the packages are loaded only here. The error never shows the password. */
async function connectTo({ servers, tls, ...credentials }: NatsServers): Promise<NatsConnection> {
  const { connect } = await import('@nats-io/transport-node');
  return connect({
    servers: [...servers],
    ...credentials,
    ...(tls && { tls: {} }),
    name: 'trivium',
    reconnect: false, // whoever opened it opens another
    timeout: timeoutMs,
    pingInterval: pingMs,
    maxPingOut: 2,
  });
}

/** Rejects unless the cluster is reached, and has JetStream. */
export async function probeNats(servers: NatsServers): Promise<void> {
  const { jetstreamManager } = await import('@nats-io/jetstream');
  const connection = await connectTo(servers);
  try {
    await jetstreamManager(connection, { timeout: timeoutMs });
  } finally {
    await connection.close();
  }
}

/** Connects, and creates the stream with this id, a word, if there is none. */
export async function openNatsStream(servers: NatsServers, id: string): Promise<NatsStream> {
  const connection = await connectTo(servers);
  try {
    const { jetstream, jetstreamManager } = await import('@nats-io/jetstream');
    const manager = await jetstreamManager(connection, { timeout: timeoutMs });
    await ensureStream(manager, id);
    const client = jetstream(connection, { timeout: timeoutMs });
    return {
      maxBytes: Math.min(connection.info?.max_payload ?? maxMessageBytes, maxMessageBytes) - headerBytes,
      begin: () => ensureStream(manager, id),
      publish: async (message, lastSequence) =>
        (await client.publish(subjectOf(id), message, { expect: { lastSequence } })).seq,
      async hear(take) {
        for await (const message of connection.subscribe(subjectOf(id))) take(message.string());
      },
      closed: connection.closed(),
      close: () => connection.close(),
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/**
 * Creates the stream, in memory, since the log is elsewhere: with three copies, or as many as the cluster has servers. It
 * is given more if it was made while a server was away. Resolves with the number of its last message.
 */
async function ensureStream(manager: JetStreamManager, id: string): Promise<number> {
  const { JetStreamApiError, StorageType } = await import('@nats-io/jetstream');
  const name = nameOf(id);
  const config = {
    name,
    subjects: [subjectOf(id)],
    storage: StorageType.Memory,
    max_age: windowMs * 1_000_000, // in nanoseconds
    max_bytes: windowBytes,
  };
  const info = await manager.streams.info(name).catch((error: unknown) => {
    if (!(error instanceof JetStreamApiError)) throw error; // nobody answers
    return undefined;
  });
  const copies = info?.config.num_replicas ?? 0;
  let fault: unknown;
  for (const num_replicas of [3, 2, 1].filter((more) => more > copies)) {
    try {
      const changed = { ...config, num_replicas };
      const { state } = await (info ? manager.streams.update(name, changed) : manager.streams.add(changed));
      return state.last_seq;
    } catch (error) {
      if (!(error instanceof JetStreamApiError)) throw error;
      fault = error;
    }
  }
  if (!info) throw fault;
  return info.state.last_seq;
}
