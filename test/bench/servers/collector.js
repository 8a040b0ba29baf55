import { listen } from './listen.js';

/** How many spans came below each path. */
const spans = new Map();

/** A collector of traces, which takes all and keeps none. A GET tells how many spans came below a path. */
listen(async ({ method, url }, body) => {
  const path = url.replace(/\/v1\/traces$/, '');
  const known = spans.get(path) ?? 0;
  if (method === 'GET') return { body: String(known) };
  spans.set(path, known + body.toString('latin1').split('"spanId"').length - 1);
  return { body: '{}' };
});
