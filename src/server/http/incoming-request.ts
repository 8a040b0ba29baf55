import { IncomingMessage } from 'node:http';
import { isTurnShort } from '../../lib/async/pace.js';
import { maxBodyBytes } from '../../lib/body-limit.js';
import { Block, blockLength } from '../../lib/chunks.js';
import type { Holding } from '../../lib/memory/memory-ledger.js';
import { longReading, type Admission } from '../operation/admission.js';
import type { ReadingTurns } from './reading-turns.js';
import { pathOf } from './request-guards.js';

/** The path of websockets. */
const websocketPath = '/graphql';
/** What a request takes in the heap besides. */
const headBytes = 2_000;
/** In bytes: so little more is not charged yet. */
const littleMore = 1024;
/** In bytes: what is shorter takes as long to parse. */
export const shortChunk = 64;
/** Some 130 ms: as long as a thousand requests take to parse. */
export const mostShortChunks = 65_536;

/**
 * A request whose body comes in chunks of some length, however it was sent. It counts as an upgrade only if it asks for
 * a websocket at its place, by GET of HTTP/1.1 (RFC 6455 §4.1): any other offer is ignored (RFC 9110 §7.8), and the
 * request answered like any other. Node.js reads `upgrade` after the headers, and calls `push` with each chunk.
 */
export class IncomingRequest extends IncomingMessage {
  private offered: boolean | null | undefined;
  /** Of the body, what is still to be pushed on. */
  private readonly block = new Block();
  private cutOff: (() => void) | undefined;
  protected received = 0;
  private shortChunks = 0;

  get upgrade(): boolean {
    // Node.js goes on parsing what it has read of a connection that is cut off: up to 64 KiB, with thousands of requests.
    if (this.socket.destroyed) return true; // after an upgrade it parses no more
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
      this.pushHeld();
      if (chunk === null && this.cutOff) this.socket.off('close', this.cutOff);
      return chunk === null ? super.push(null) : this.pushOn(chunk);
    }
    if (chunk.length < shortChunk) this.shortChunks += 1;
    if (this.shortChunks > mostShortChunks) return (this.destroy(), false);
    const wantsMore = this.block.fits(chunk) || this.pushHeld();
    this.block.add(chunk);
    return wantsMore;
  }

  /** Has it end with its connection: once it is answered, Node.js no longer cuts off what has not arrived. */
  protected endWithConnection(): void {
    this.cutOff = () => void this.destroy();
    this.socket.once('close', this.cutOff);
  }

  /** Returns whether more is wanted. */
  protected pushOn(block: Buffer): boolean {
    this.received += Math.max(block.length, blockLength);
    return super.push(block) && !this.isLong();
  }

  protected isLong(): boolean {
    return this.received >= longReading;
  }

  /** Whether it is all of the body: then the end is here, too, and nothing has to wait for it. */
  protected isWhole({ length }: Buffer): boolean {
    return this.headers['content-length'] === String(length);
  }

  private pushHeld(): boolean {
    const block = this.block.take();
    return block === undefined || this.pushOn(block);
  }
}

/**
 * A class of requests, for `createServer`: while their bodies arrive, they are charged to the caller that `callerOf`
 * gives, who has long ones read in turns. What has taken longest is cut off where there is no room. The end of a body is
 * told when it is the turn of its lane, since it may then be parsed, and many may end at once. One that came whole is
 * charged only then, and told at once where there is no room: nothing is given up for what waits, nor that for anything.
 * `reading` is told of each block of a body.
 */
export function createRequestClass(
  { ledger, toRead, toTake }: Pick<Admission, 'ledger' | 'toRead' | 'toTake'>,
  callerOf: (request: IncomingMessage) => string,
  laneOf: (request: IncomingMessage) => string,
  reading: Pick<ReadingTurns, 'note'>,
): typeof IncomingRequest {
  return class extends IncomingRequest {
    private arriving: Holding | undefined;
    private uncharged = 0;

    override push(chunk: Buffer | null): boolean {
      if (chunk === null) return this.end();
      // Node.js goes on parsing what it has read of a request that is cut off.
      if (!this.destroyed && (this.arriving || !this.isWhole(chunk)) && !this.charge(chunk.length))
        this.destroy();
      return super.push(chunk);
    }

    private end(): boolean {
      const tell = () => (this.arriving?.release(), super.push(null));
      // Who has not begun to read it waits for a turn, too.
      if (!this.readableFlowing || isTurnShort()) return tell();
      const uncharged = this.arriving ? 0 : Number(this.headers['content-length'] ?? 0);
      if (!this.arriving && !ledger.hasRoom(callerOf(this), headBytes, uncharged)) return tell();
      if (this.charge(uncharged)) this.arriving!.protect();
      void toTake(laneOf(this)).then(tell);
      return false;
    }

    protected override pushOn(block: Buffer): boolean {
      reading.note(this.socket);
      return super.pushOn(block);
    }

    /** Node.js reads nothing of the body between a `push` that returned false and this call. */
    override _read(size: number): void {
      // oxlint-disable-next-line no-underscore-dangle -- the name is that of Node.js
      const read = () => super._read(size);
      if (this.isLong()) void toRead(callerOf(this)).then(read);
      else read();
    }

    /** An error that nobody listens for is not told: for thousands of requests that wait, its stack would take long. */
    override destroy(error?: Error): this {
      this.arriving?.release();
      return super.destroy(this.listenerCount('error') > 0 ? error : undefined);
    }

    /** Of a body that is too large, nothing more is kept. */
    private charge(bytes: number): boolean {
      this.uncharged += bytes;
      if (this.arriving && this.uncharged < littleMore) return true;
      if (!this.arriving) this.endWithConnection();
      this.arriving ??= ledger.open(callerOf(this), 'arriving', () => void this.destroy());
      const buffers = Math.min(this.arriving.buffers + this.uncharged, maxBodyBytes);
      this.uncharged = 0;
      return this.arriving.resize(headBytes, buffers);
    }
  };
}
