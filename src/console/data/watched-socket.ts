import type { ConnectionMonitor } from './connection.js';

/** A connection that can be watched, and cut as a network would cut it. */
export interface Wire {
  /** The class of its sockets. */
  readonly Socket: typeof WebSocket;
  /** Closes what is open, and whatever is opened until `mend`. */
  cut(): void;
  mend(): void;
}

/** Tells `monitor` what becomes of each socket. */
export function createWire(monitor: ConnectionMonitor): Wire {
  const open = new Set<WebSocket>();
  let isCut = false;

  class Socket extends WebSocket {
    constructor(url: string | URL, protocols?: string | string[]) {
      super(url, protocols);
      open.add(this);
      monitor.connecting();
      this.addEventListener('message', ({ data }) => {
        if (typeof data === 'string' && data.includes('"connection_ack"')) monitor.connected();
      });
      this.addEventListener('close', () => {
        open.delete(this);
        monitor.closed();
      });
      if (isCut) this.close();
    }
  }

  return {
    Socket,
    cut() {
      isCut = true;
      monitor.cut();
      for (const socket of open) socket.close();
    },
    mend() {
      isCut = false;
    },
  };
}
