import { Client, type ClientConfig } from 'pg';
import type { Logger } from 'pino';
import { channels, type Channel, type Signals } from './signals.js';

const greatestPauseMs = 5_000;
const heartbeatMs = 15_000;

/** The name of a channel in Postgres, where other programs may have channels too. */
export function channelName(channel: Channel): string {
  return `trivium_${channel}`;
}

function connect(config: ClientConfig, signals: Signals): Promise<Client> {
  const client = new Client(config);
  client.on('error', () => undefined); // 'end' follows, and a client without this would end the process
  client.on('notification', ({ channel: name, payload }) => {
    const channel = channels.find((it) => channelName(it) === name);
    if (channel) signals.hear(channel, payload ?? '');
  });
  const listen = channels.map((channel) => `listen ${channelName(channel)}`).join('; ');
  return client
    .connect()
    .then(() => client.query(listen))
    .then(
      () => client,
      async (error: unknown) => {
        await client.end().catch(() => undefined);
        throw error;
      },
    );
}

function ended(client: Client): Promise<void> {
  return new Promise((resolve) => client.once('end', resolve));
}

/**
 * Listens on one connection of its own and takes it up again whenever it is lost; then every listener hears
 * an empty payload, since signals may have been missed. Resolves once it listens.
 */
export async function startListener(config: ClientConfig, signals: Signals, log: Logger) {
  let stopped = false;
  let client = await connect(config, signals);
  let lost = ended(client);

  // A peer that vanished without a word shows only when it is asked.
  const heartbeat = setInterval(() => {
    const asked = client;
    asked.query('select 1').catch(() => void asked.end().catch(() => undefined));
  }, heartbeatMs).unref();

  const reconnect = async (): Promise<void> => {
    for (let pauseMs = 100; !stopped; pauseMs = Math.min(pauseMs * 2, greatestPauseMs)) {
      try {
        client = await connect(config, signals);
        lost = ended(client);
        for (const channel of channels) signals.hear(channel, '');
        return log.info('listening to the database again');
      } catch {
        await new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
      }
    }
  };

  const watch = async (): Promise<void> => {
    while (!stopped) {
      await lost;
      if (stopped) return;
      log.warn('lost the connection that listens to the database');
      await reconnect();
    }
  };
  void watch();

  return {
    async stop(): Promise<void> {
      stopped = true;
      clearInterval(heartbeat);
      await client.end();
    },
  };
}
