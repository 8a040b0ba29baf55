import { listen } from './listen.js';

/** How many spans came below each path. */
const spans = new Map();

/** What begins a span: in JSON its id's name, in Protocol Buffers the ids of its trace and itself, as fields 1 and 2. */
// oxlint-disable-next-line no-control-regex -- tags and lengths of the fields
const span = /"spanId"|\x0a\x10[^]{16}\x12\x08/g;

/** A collector of traces, which takes all and keeps none. A GET tells how many spans came below a path. */
listen(async ({ method, url }, body) => {
  const path = url.replace(/\/v1\/traces$/, '');
  const known = spans.get(path) ?? 0;
  if (method === 'GET') return { body: String(known) };
  spans.set(path, known + (body.toString('latin1').match(span) ?? []).length);
  return { body: '{}' };
});
