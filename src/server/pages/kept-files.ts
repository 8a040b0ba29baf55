import { ReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';

/**
 * Has each file that these routes send read once, and kept until it is another, as its `ETag` tells. A stream would hold a
 * descriptor and a part of the file for as long as its client reads nothing; these bytes are the same for all clients. To
 * be registered without `acceptRanges`, since all of the file is sent.
 */
export function keepFiles(routes: FastifyInstance): void {
  const kept = new Map<string, { readonly version: unknown; readonly content: Promise<Buffer> }>();

  function contentOf(path: string, version: unknown): Promise<Buffer> {
    const known = kept.get(path);
    if (known && known.version === version) return known.content;
    const content = readFile(path);
    kept.set(path, { version, content });
    content.catch(() => kept.delete(path));
    return content;
  }

  routes.addHook('onSend', async (_request, reply, payload) => {
    if (!(payload instanceof ReadStream)) return payload;
    // It may still be opening a file that is gone by now: what comes of that, the read below tells.
    payload.on('error', () => undefined).destroy();
    return contentOf(String(payload.path), reply.getHeader('etag'));
  });
}
