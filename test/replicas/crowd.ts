// A process of its own that subscribes `argv[4]` times at the gateway `argv[2]` with the session `argv[3]`: says
// `ready`, then, each time that everybody has got one event more, how many all have.
import { shipmentUpdates, subscribe, subscribeMany } from './subscriber.js';

const [, , url = '', token = '', count = '0'] = process.argv;
const subscribers = await subscribeMany(Number(count), () =>
  subscribe(url, token, { query: shipmentUpdates }),
);
process.send!('ready');
let had = 0;
setInterval(() => {
  const events = subscribers[0]!.got;
  const all = subscribers.every(({ got }) => got.join() === events.join());
  if (!all || events.length === had) return;
  had = events.length;
  process.send!(events);
}, 20);
process.on('disconnect', () => process.exit());
