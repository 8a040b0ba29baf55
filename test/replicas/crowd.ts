// A separate process that subscribes `argv[4]` times at the gateway `argv[2]` with the session `argv[3]`. It sends
// `ready`, and then the ids of all events so far, whenever every subscriber has got more of them.
import { shipmentUpdates, subscribe, subscribeMany } from './subscriber.js';

const [, , url = '', token = '', count = '0'] = process.argv;
// Long updates, so that the gateway takes several turns to give one to a thousand.
const more = Array.from({ length: 10 }, (_, at) => `c${at}: cursor`).join(' ');
const query = shipmentUpdates.replace('cursor', `cursor ${more}`);
const subscribers = await subscribeMany(Number(count), () => subscribe(url, token, { query }));
process.send!('ready');
let reported = 0;
setInterval(() => {
  const events = subscribers[0]!.got;
  const all = subscribers.every(({ got }) => got.join() === events.join());
  if (!all || events.length === reported) return;
  reported = events.length;
  process.send!(events);
}, 20);
process.on('disconnect', () => process.exit());
