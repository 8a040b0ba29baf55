import type { Client } from 'pg';

/**
 * Ends a connection at once. pg alone waits, where no statement runs, until the server closes it too: one that is mute
 * never does.
 */
export async function hangUp(client: Client): Promise<void> {
  const ended = client.end();
  client.connection.stream.destroy();
  await ended;
}
