import { createStore, type Store } from './store.js';

/** The connection for live updates, as its light shows it. */
export type Connection =
  | { readonly state: 'idle' | 'connecting' | 'live' | 'reconnecting' | 'cut' }
  /** Live again, with so many events caught up on that came meanwhile. */
  | { readonly state: 'resumed'; readonly caughtUp: number };

/** Whether updates come as they happen. */
export const isConnected = ({ state }: Connection): boolean => state === 'live' || state === 'resumed';

/** For how long what was caught up on is shown. */
const shownMs = 12_000;

/** Follows the connection through what its socket reports. */
export interface ConnectionMonitor {
  readonly connection: Store<Connection>;
  connecting(): void;
  connected(): void;
  closed(): void;
  /**
   * An update came that had been in the log before the connection was. Tells whether it is one to catch up on: it is not
   * where no connection was lost.
   */
  replayed(): boolean;
  /** Something came, if only a sign of life: perhaps by a connection of another tab, which none here leads to. */
  heard(): void;
  /** Whoever uses the page cut the connection. */
  cut(): void;
  /** It may connect again. */
  mended(): void;
  /** Nothing is followed any more: what is followed next has not been missed. */
  idle(): void;
}

/** Starts without a connection. */
export function createConnectionMonitor(): ConnectionMonitor {
  const connection = createStore<Connection>({ state: 'idle' });
  let wasLive = false;
  let isIdle = true;
  let caughtUp = 0;
  let settle: ReturnType<typeof setTimeout> | undefined;
  const set = (next: Connection): void => connection.set(next);

  function showCaughtUp(): void {
    set({ state: 'resumed', caughtUp });
    clearTimeout(settle);
    settle = setTimeout(() => set({ state: 'live' }), shownMs);
  }

  function connected(): void {
    caughtUp = 0;
    if (wasLive) showCaughtUp();
    else set({ state: 'live' });
    wasLive = true;
  }

  function isAway(): void {
    set({ state: isIdle ? 'idle' : wasLive ? 'reconnecting' : 'connecting' });
  }

  return {
    connection,
    connecting() {
      isIdle = false;
      if (connection.get().state === 'idle') set({ state: 'connecting' });
    },
    connected,
    closed() {
      clearTimeout(settle);
      if (connection.get().state !== 'cut') isAway();
    },
    replayed() {
      if (connection.get().state !== 'resumed') return false;
      caughtUp += 1;
      showCaughtUp();
      return true;
    },
    heard() {
      if (['idle', 'connecting', 'reconnecting'].includes(connection.get().state)) connected();
    },
    cut() {
      clearTimeout(settle);
      set({ state: 'cut' });
    },
    mended: isAway,
    idle() {
      isIdle = true;
      wasLive = false;
      clearTimeout(settle);
      if (connection.get().state !== 'cut') set({ state: 'idle' });
    },
  };
}
