import { METHODS } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Receiver } from '../events/receiver.js';

/** Answers one webhook, or what was meant as one. */
export type AnswerWebhook = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/**
 * Gives the receiver every request below `/webhooks/`, by whatever method, as it came: before the server looks at its
 * type or its body, since any type will do and the signature is over the raw bytes.
 */
export function serveWebhooks(app: FastifyInstance, answer: AnswerWebhook): void {
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  app.route({ method: app.supportedMethods, url: '/webhooks/*', onRequest: answer, handler: answer });
}

/** Whether a request is for the receiver. */
export function isWebhook({ url }: FastifyRequest): boolean {
  return url.startsWith('/webhooks/');
}

/** Answers as the receiver says. */
export function createWebhookAnswer(receiver: Receiver): AnswerWebhook {
  return async ({ raw, url }, reply) => {
    const [, , family = '', id = '', ...more] = url.split('?', 1)[0]!.split('/');
    const { status, headers, body } = await receiver.receive({
      family,
      endpointId: more.length === 0 ? decode(id) : '',
      method: raw.method ?? '',
      rawHeaders: raw.rawHeaders,
      body: raw,
    });
    return reply.code(status).headers(headers).send(body);
  };
}

/** A segment of a path; empty, as no id is, where it cannot be decoded. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}
