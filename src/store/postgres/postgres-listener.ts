import { Client } from 'pg';
import type { Logger } from 'pino';
import { growingPauses, retry } from '../../lib/async/retry.js';
import { hangUp } from './hang-up.js';
import { prepareConnection } from './postgres-connection.js';
import type { PrimaryFinder } from './primary-finder.js';
import type { TimelineFence } from './timeline.js';
import { channelName, channels, type Notifications } from '../sql/notifications.js';

const maxPauseMs = 1_000;
const heartbeatMs = 15_000;

/** Where to listen. */
export interface ListenerServer {
  readonly finder: PrimaryFinder;
  readonly fence: TimelineFence;
}

async function connect({ finder, fence }: ListenerServer, notifications: Notifications): Promise<Client> {
  const client = new Client(finder.config);
  client.on('error', () => undefined); // 'end' follows; without a listener, an error would end the process
  client.on('notification', ({ channel: name, payload }) => {
    const channel = channels.find((it) => channelName(it) === name);
    if (channel) notifications.emit(channel, payload ?? '');
  });
  try {
    await client.connect();
    await prepareConnection(client, fence);
    await client.query(channels.map((channel) => `listen ${channelName(channel)}`).join('; '));
    return client;
  } catch (error) {
    await hangUp(client);
    throw error;
  }
}

// Not `once` of node:events, which rejects on the 'error' that comes before 'end'.
function ended(client: Client): Promise<void> {
  return new Promise((resolve) => client.once('end', resolve));
}

/**
 * Listens on a dedicated connection and reconnects whenever it is lost; then every listener gets an empty payload,
 * since signals may have been missed. Resolves once it listens.
 */
export async function startListener(server: ListenerServer, notifications: Notifications, log: Logger) {
  let stopped = false;
  let client = await connect(server, notifications);

  const pauses = growingPauses({ firstMs: 50, maxMs: maxPauseMs });
  const reconnect = (): Promise<Client | undefined> =>
    retry(() => connect(server, notifications), {
      async pauseMs(failures) {
        await server.finder.look();
        return pauses(failures);
      },
      isWanted: () => !stopped,
    }).catch(() => undefined);

  const watch = async (): Promise<void> => {
    while (!stopped) {
      await ended(client);
      if (stopped) return;
      log.warn('lost the connection that listens for database notifications');
      client = (await reconnect()) ?? client;
      if (stopped) return hangUp(client);
      log.info('listening for database notifications again');
      for (const channel of channels) notifications.emit(channel, '');
    }
  };
  void watch();

  // A peer that vanished without closing the connection is noticed only by a query.
  const heartbeat = setInterval(() => {
    const asked = client;
    asked.query('select 1').catch(() => hangUp(asked));
  }, heartbeatMs).unref();

  return {
    async stop(): Promise<void> {
      stopped = true;
      clearInterval(heartbeat);
      await hangUp(client);
    },
  };
}
