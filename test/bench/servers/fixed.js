import { listen } from './listen.js';

/** Shows what `node:http` itself costs: a POST is answered with the bytes that were PUT at the same path. */
const answers = new Map();

listen(async ({ method, url }, body) => {
  if (method === 'PUT') answers.set(url, body);
  return { body: answers.get(url) };
});
