import type { FaultAction } from '../../src/sandbox/faults.js';

/** Text of a service's answers that must not get past the gateway. */
export const serviceText = 'the words of the service';

/** An answer with this body instead of the service's own. */
export function answer(status: number, body: unknown = '', contentType = 'application/json'): FaultAction {
  return {
    kind: 'answer',
    status,
    contentType,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}

/** Failures that any call may meet: a name, what the service does, and the code that reports it. */
export const failures: readonly (readonly [string, FaultAction, string])[] = [
  ['closes the connection', { kind: 'refuse' }, 'UPSTREAM_UNAVAILABLE'],
  ['answers 500', answer(500, serviceText), 'UPSTREAM_UNAVAILABLE'],
  ['answers 503 in HTML', answer(503, `<h1>${serviceText}</h1>`, 'text/html'), 'UPSTREAM_UNAVAILABLE'],
  [
    'redirects',
    { kind: 'answer', status: 302, headers: { location: 'http://127.0.0.1:1/' }, body: serviceText },
    'UPSTREAM_INVALID_RESPONSE',
  ],
  ['answers 10 MB', answer(200, `"${serviceText.repeat(420_000)}"`), 'UPSTREAM_INVALID_RESPONSE'],
];

/** Successful answers from which nothing can be read. */
export const misshapen: readonly (readonly [string, FaultAction])[] = [
  ['HTML', answer(200, `<html>${serviceText}</html>`, 'text/html')],
  ['an empty body', answer(200)],
  ['204 without a body', answer(204)],
  ['incomplete JSON', answer(200, `{"data":["${serviceText}`)],
  ...[null, [], {}, 0, true, serviceText, [serviceText], { data: null }].map(
    (body) => [JSON.stringify(body), answer(200, JSON.stringify(body))] as const,
  ),
];

/** Collects the reasons of unhandled promise rejections from now on. */
export function unhandled(): readonly unknown[] {
  const reasons: unknown[] = [];
  process.on('unhandledRejection', (reason) => void reasons.push(reason));
  return reasons;
}
