import { IncomingMessage } from 'node:http';
import { maxBodyBytes } from '../../events/webhooks/request.js';
import { pathOf } from './request-guards.js';

/** The path of websockets. */
const websocketPath = '/graphql';
/** In bytes. Chunks take 250 bytes each besides their own, and a client may send single bytes. */
const blockLength = 16 * 1024;
/** In bytes: longer bodies count. */
const short = 64 * 1024;
const maxArriving = 128 * 1024 * 1024;

/**
 * A request whose body comes in chunks of some length, however it was sent. It counts as an upgrade only if it asks for
 * a websocket at its place, by GET of HTTP/1.1 (RFC 6455 §4.1): any other offer is ignored (RFC 9110 §7.8), and the
 * request answered like any other. Node.js reads `upgrade` after the headers, and calls `push` with each chunk.
 */
class IncomingRequest extends IncomingMessage {
  private offered: boolean | null | undefined;
  /** Of the body, what is still to be pushed on: a chunk or, once there is a second one, a block that they fill. */
  private held: Buffer | undefined;
  private filled = 0;

  get upgrade(): boolean {
    if (!this.offered) return false;
    if (this.method === 'CONNECT') return true;
    if (this.httpVersion !== '1.1' || this.method !== 'GET') return false;
    if (pathOf(this.url!) !== websocketPath) return false;
    return this.headers.upgrade?.toLowerCase() === 'websocket';
  }

  set upgrade(offered: boolean | null) {
    this.offered = offered;
  }

  override push(chunk: Buffer | null): boolean {
    if (chunk === null || chunk.length >= blockLength) {
      this.release();
      return super.push(chunk);
    }
    const wantsMore = this.filled + chunk.length <= blockLength || this.release();
    this.hold(chunk);
    return wantsMore;
  }

  private hold(chunk: Buffer): void {
    if (!this.held) this.held = chunk;
    else {
      if (this.held.length < blockLength) this.held = Buffer.concat([this.held], blockLength);
      chunk.copy(this.held, this.filled);
    }
    this.filled += chunk.length;
  }

  /** Returns whether more is wanted. */
  private release(): boolean {
    const { held, filled } = this;
    this.held = undefined;
    this.filled = 0;
    return held === undefined || super.push(held.subarray(0, filled));
  }
}

/**
 * A class of requests, for `createServer`. While their bodies arrive, they have no more than `most` bytes of memory in
 * all: those that have taken longest are cut off, and `onCutOff` is called for each. Short bodies do not count.
 */
export function createRequestClass(onCutOff: () => void, most = maxArriving): typeof IncomingMessage {
  /** The bytes kept of each long body, the earliest first. */
  const arriving = new Map<IncomingMessage, number>();
  let total = 0;

  function count(request: IncomingMessage, bytes: number): void {
    const before = arriving.get(request);
    if (before === undefined) request.once('close', () => forget(request));
    total += bytes - (before ?? 0);
    arriving.set(request, bytes);
    if (total <= most) return;
    const [earliest] = arriving.keys();
    forget(earliest!);
    earliest!.destroy();
    onCutOff();
  }

  function forget(request: IncomingMessage): void {
    total -= arriving.get(request) ?? 0;
    arriving.delete(request);
  }

  return class extends IncomingRequest {
    private received = 0;

    override push(chunk: Buffer | null): boolean {
      const wantsMore = super.push(chunk);
      this.received += chunk?.length ?? 0;
      // Of a body that is too large, nothing more is kept. Node.js goes on parsing what it has read of one that is cut off.
      if (this.received > short && !this.destroyed) count(this, Math.min(this.received, maxBodyBytes));
      return wantsMore;
    }
  };
}
