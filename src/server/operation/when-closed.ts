import type { ServerResponse } from 'node:http';

/** Calls `act` once the response is complete, or its client has gone; at once if it is closed already. */
export function whenClosed(response: ServerResponse, act: () => void): void {
  if (response.closed) act();
  else response.once('close', act);
}
