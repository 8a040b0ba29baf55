import { createHmac } from 'node:crypto';
import { request as send, type OutgoingHttpHeaders } from 'node:http';

/** A request to the receiver of webhooks; by default an empty one to the shipments of `sub_1`. */
export interface Sending {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
}

/** What the receiver answers; the body is parsed as JSON, and undefined if there is none. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
}

/** Sends this to the receiver at an address such as `http://127.0.0.1:4000`, on a connection of its own. */
export function deliver(address: string, sending: Sending): Promise<Answer> {
  const { path = '/webhooks/shipments/sub_1', method = 'POST', headers = {}, body = '' } = sending;
  const { hostname, port } = new URL(address);
  return new Promise((resolve, reject) => {
    const request = send({ hostname, port, path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const answer = text === '' ? undefined : (JSON.parse(text) as unknown);
        resolve({ status: response.statusCode!, headers: response.headers, body: answer });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** The HMAC-SHA-256 of these parts, one after the other, in hex. */
export function hmac(secret: string, ...parts: readonly (string | Buffer)[]): string {
  const mac = createHmac('sha256', secret);
  for (const part of parts) mac.update(part);
  return mac.digest('hex');
}
