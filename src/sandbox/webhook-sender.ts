import http from 'node:http';
import https from 'node:https';
import net from 'node:net';

/** Posts to receivers over keep-alive connections. */
export interface WebhookSender {
  /** The status of the receiver's answer; null if there was none within ten seconds. */
  post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<number | null>;
  /** Whether something listens at the address. */
  reaches(url: string): Promise<boolean>;
  /** Closes every connection at once. */
  stop(): void;
}

const timeoutMs = 10_000;

/** A webhook sender with its own connections. */
export function createWebhookSender(): WebhookSender {
  const plain = new http.Agent({ keepAlive: true });
  const secure = new https.Agent({ keepAlive: true });
  let stopped = false;

  function open(url: string, options: http.RequestOptions): http.ClientRequest {
    if (url.startsWith('https:')) return https.request(url, { ...options, agent: secure });
    return http.request(url, { ...options, agent: plain });
  }

  function post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
  ): Promise<number | null> {
    return new Promise((resolve) => {
      const length = { 'content-length': Buffer.byteLength(body) };
      const request = open(url, { method: 'POST', headers: { ...headers, ...length } });
      const timeout = setTimeout(() => request.destroy(new Error('no answer')), timeoutMs).unref();
      request.on('response', (response) => resolve(response.resume().statusCode ?? null));
      // A kept-alive connection may have been closed just before it was reused: the receiver did not get this request.
      request.on('error', (error: NodeJS.ErrnoException) => {
        const again = request.reusedSocket && error.code === 'ECONNRESET' && !stopped;
        resolve(again ? post(url, headers, body) : null);
      });
      request.on('close', () => clearTimeout(timeout));
      request.end(body);
    });
  }

  return {
    post,
    reaches,
    stop: () => {
      stopped = true;
      plain.destroy();
      secure.destroy();
    },
  };
}

function reaches(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(socketAddress(url));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

/** The host and port to connect to for a URL, without the brackets around an IPv6 address. */
export function socketAddress(url: string): { readonly host: string; readonly port: number } {
  const { protocol, hostname, port } = new URL(url);
  const defaultPort = protocol === 'https:' ? 443 : 80;
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || defaultPort };
}
