import type { GraphiQLProps } from 'graphiql';

const own = 'graphiql:';
const setting = `${own}shouldPersistHeaders`;

/** Whether GraphiQL is set to keep headers, which may hold a token. */
export function keepsHeaders(): boolean {
  return localStorage.getItem(setting) === 'true';
}

/**
 * Where GraphiQL keeps tabs, history and settings; headers only if the settings say so. GraphiQL alone would keep them
 * in the history anyway, and after the setting is switched off.
 */
export function openStorage(): NonNullable<GraphiQLProps['storage']> {
  stripUnlessKept(); // what was kept under another setting, or by an earlier version of this page
  return {
    getItem: (key) => localStorage.getItem(key),
    setItem(key, value) {
      localStorage.setItem(key, value);
      // Not at once: when the setting is switched on, GraphiQL writes the headers just before the setting itself.
      queueMicrotask(stripUnlessKept);
    },
    removeItem: (key) => localStorage.removeItem(key),
    clear() {
      for (const key of keys()) localStorage.removeItem(key);
    },
    get length() {
      return keys().length;
    },
  };
}

function keys(): string[] {
  return Object.keys(localStorage).filter((key) => key.startsWith(own));
}

function stripUnlessKept(): void {
  if (keepsHeaders()) return;
  localStorage.removeItem(`${own}headers`);
  for (const key of [`${own}queries`, `${own}favorites`, `${own}tabState`]) strip(key);
}

function strip(key: string): void {
  const json = localStorage.getItem(key);
  if (json === null) return;
  try {
    const stripped = withoutHeaders(json);
    if (stripped !== json) localStorage.setItem(key, stripped);
  } catch {
    localStorage.removeItem(key); // not JSON, so GraphiQL could not read it either
  }
}

function withoutHeaders(json: string): string {
  return JSON.stringify(JSON.parse(json), (name, value: unknown) => (name === 'headers' ? null : value));
}
