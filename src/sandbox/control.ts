import type { Clock } from './clock.js';
import { json, refuse, type Request, type Route } from './http.js';

/** The control door: shows the clock and moves it. */
export function controlRoutes(clock: Clock): readonly Route[] {
  const show = () => json(200, { now: new Date(clock.now()).toISOString() });

  async function advance(request: Request) {
    const { advanceSeconds } = request.json();
    if (typeof advanceSeconds !== 'number' || advanceSeconds < 0)
      throw refuse(400, 'invalid', 'advanceSeconds is not a number of seconds from 0 on.');
    await clock.advance(advanceSeconds * 1000);
    return show();
  }

  return [
    { method: 'GET', path: '/clock', handle: show },
    { method: 'POST', path: '/clock', handle: advance },
  ];
}
