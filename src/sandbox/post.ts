import http from 'node:http';
import https from 'node:https';
import net from 'node:net';

/** Posts to receivers over connections that are kept open. */
export interface Poster {
  /** The status of the receiver's answer; null where none came within ten seconds. */
  post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<number | null>;
  /** Whether something listens at the address. */
  reaches(url: string): Promise<boolean>;
  /** Ends every connection at once. */
  stop(): void;
}

const patienceMs = 10_000;

/** A poster with its own connections. */
export function createPoster(): Poster {
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
      const patience = setTimeout(() => request.destroy(new Error('no answer')), patienceMs).unref();
      request.on('response', (response) => resolve(response.resume().statusCode ?? null));
      // A kept connection may have been closed just before it was used: that is no answer of the receiver.
      request.on('error', (error: NodeJS.ErrnoException) => {
        const again = request.reusedSocket && error.code === 'ECONNRESET' && !stopped;
        resolve(again ? post(url, headers, body) : null);
      });
      request.on('close', () => clearTimeout(patience));
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

/** Where a socket for a URL connects to; the brackets that a URL has around an IPv6 address are no part of it. */
export function socketAddress(url: string): { readonly host: string; readonly port: number } {
  const { protocol, hostname, port } = new URL(url);
  const usualPort = protocol === 'https:' ? 443 : 80;
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || usualPort };
}
