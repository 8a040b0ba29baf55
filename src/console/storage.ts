import type { GraphiQLProps } from 'graphiql';

const own = 'graphiql:';
const histories = [`${own}queries`, `${own}favorites`];

/**
 * Where GraphiQL keeps tabs, history and settings. Headers, which may hold a token, are kept only where the settings
 * say so: by itself GraphiQL keeps them with the history all the same.
 */
export const storage: NonNullable<GraphiQLProps['storage']> = {
  getItem: (key) => localStorage.getItem(key),
  setItem(key, value) {
    const isForHeaders = localStorage.getItem(`${own}shouldPersistHeaders`) === 'true';
    localStorage.setItem(key, histories.includes(key) && !isForHeaders ? withoutHeaders(value) : value);
  },
  removeItem: (key) => localStorage.removeItem(key),
  clear() {
    for (const key of keys()) localStorage.removeItem(key);
  },
  get length() {
    return keys().length;
  },
};

function keys(): string[] {
  return Object.keys(localStorage).filter((key) => key.startsWith(own));
}

function withoutHeaders(json: string): string {
  return JSON.stringify(JSON.parse(json), (name, value: unknown) => (name === 'headers' ? null : value));
}
