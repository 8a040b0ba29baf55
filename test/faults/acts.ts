import type { FaultAction } from '../../src/sandbox/faults.js';

/** Words that a service may say, and that nobody beyond the gateway may hear. */
export const serviceWords = 'the words of the service';

/** An answer with this body instead of the service's own. */
export function answer(status: number, body: unknown = '', contentType = 'application/json'): FaultAction {
  return {
    kind: 'answer',
    status,
    contentType,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}

/** How a service fails whatever it is asked, and the code that tells of it. */
export const failures: readonly (readonly [string, FaultAction, string])[] = [
  ['ends the connection', { kind: 'refuse' }, 'UPSTREAM_UNAVAILABLE'],
  ['answers 500', answer(500, serviceWords), 'UPSTREAM_UNAVAILABLE'],
  ['answers 503 in HTML', answer(503, `<h1>${serviceWords}</h1>`, 'text/html'), 'UPSTREAM_UNAVAILABLE'],
  [
    'redirects',
    { kind: 'answer', status: 302, headers: { location: 'http://127.0.0.1:1/' }, body: serviceWords },
    'UPSTREAM_INVALID_RESPONSE',
  ],
  ['answers 10 MB', answer(200, `"${serviceWords.repeat(420_000)}"`), 'UPSTREAM_INVALID_RESPONSE'],
];

/** Answers of success that are of no use, wherever something is to be read from them. */
export const misshapen: readonly (readonly [string, FaultAction])[] = [
  ['HTML', answer(200, `<html>${serviceWords}</html>`, 'text/html')],
  ['nothing', answer(200)],
  ['no content', answer(204)],
  ['half a JSON', answer(200, `{"data":["${serviceWords}`)],
  ...[null, [], {}, 0, true, serviceWords, [serviceWords], { data: null }].map(
    (body) => [JSON.stringify(body), answer(200, JSON.stringify(body))] as const,
  ),
];

/** The promises of this process that failed without anybody to hear of it, from now on. */
export function unhandled(): readonly unknown[] {
  const reasons: unknown[] = [];
  process.on('unhandledRejection', (reason) => void reasons.push(reason));
  return reasons;
}
