import { mkdtempSync, unwatchFile, watchFile, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { watchDocuments } from '../../../src/server/documents/watched-manifest.js';

test('a manifest that changes just after it was first read is read again', async () => {
  const path = join(mkdtempSync(join(inject('testDirectory'), 'manifest-')), 'manifest.json');
  writeFileSync(path, '{"a":"{ a }"}');
  const write = (line: string) => {
    if (line.includes('the trusted documents were read"')) writeFileSync(path, '{"a":"{ a }","b":"{ b }"}');
  };
  const { documents, stop } = await watchDocuments(
    { path, mode: 'only' },
    [],
    createTelemetry('info', { write }),
  );
  onTestFinished(stop);
  expect(documents.size).toBe(1);
  await expect.poll(() => documents.size, { timeout: 10_000 }).toBe(2);
});

test('a manifest that cannot be read at first is not taken for one that was changed', async () => {
  const path = join(mkdtempSync(join(inject('testDirectory'), 'manifest-')), 'missing.json');
  const lines: string[] = [];
  const telemetry = createTelemetry('info', { write: (line: string) => void lines.push(line) });
  const settings = { path, mode: 'only' } as const;
  await expect(watchDocuments(settings, [], telemetry)).rejects.toThrow(/missing\.json cannot be read/);
  // Node.js tells whoever watches a missing file so, once it has looked.
  await new Promise<void>((resolve) => watchFile(path, { interval: 10 }, () => resolve()));
  unwatchFile(path);
  expect(lines).toEqual([]);
});
