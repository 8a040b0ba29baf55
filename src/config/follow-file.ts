import { unwatchFile, watchFile } from 'node:fs';

const lookMs = 1_000;

/**
 * Calls `changed` whenever the file at `path` has changed; returns a function that stops. By polling: a file that a
 * volume of Kubernetes replaces is behind a link, which other ways of watching miss.
 */
export function followFile(path: string, changed: () => void): () => void {
  const listener = () => changed(); // one of its own, so that nobody else's is removed
  watchFile(path, { interval: lookMs, persistent: false }, listener);
  return () => unwatchFile(path, listener);
}
