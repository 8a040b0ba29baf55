import type { ReactElement } from 'react';
import type { Connection } from '../data/connection.js';
import { useStore } from '../data/store.js';
import { useGateway } from '../data/use-gateway.js';
import { count } from '../parts/words.js';

const words: Readonly<Record<Exclude<Connection['state'], 'resumed'>, string>> = {
  idle: 'Nothing to follow',
  connecting: 'Connecting …',
  live: 'Live',
  reconnecting: 'Reconnecting …',
  cut: 'Cut by you',
};

/** The connection's state in words. */
export function describeConnection(connection: Connection): string {
  if (connection.state !== 'resumed') return words[connection.state];
  const { caughtUp } = connection;
  return caughtUp === 0 ? 'Resumed, nothing was missed' : `Resumed, caught up on ${count(caughtUp, 'event')}`;
}

/** A light that says how live the page is. */
export function ConnectionLight(): ReactElement {
  const connection = useStore(useGateway().connection);
  return (
    <p className="light" data-state={connection.state} role="status">
      <i aria-hidden="true" />
      <span>{describeConnection(connection)}</span>
    </p>
  );
}
