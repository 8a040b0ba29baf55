import type { GraphiQLProps } from 'graphiql';

const own = 'graphiql:';
const setting = `${own}shouldPersistHeaders`;
const tabState = `${own}tabState`;
/** The keys of what GraphiQL stores of its editors besides the tabs. */
const editors = ['query', 'variables', 'headers'].map((name) => `${own}${name}`);

/** The browser's storage; undefined if the browser blocks it, as it does together with cookies. */
const stored = browserStorage();

function browserStorage(): Storage | undefined {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
}

/** Whether GraphiQL is set to keep headers, which may hold a token. */
export function keepsHeaders(): boolean {
  return stored?.getItem(setting) === 'true';
}

/**
 * Where GraphiQL keeps tabs, history and settings; headers only if the settings say so, and of a document that signs in
 * neither strings nor variables. GraphiQL alone would keep headers in the history anyway, and after the setting is
 * switched off. The editors begin with what the active tab holds: GraphiQL stores only those that were typed in, and then
 * opens a tab that lacks what the others held.
 */
export function openStorage(): NonNullable<GraphiQLProps['storage']> {
  stripAll(); // what was kept under another setting, or by an earlier version of this page
  return {
    getItem: (key) =>
      editors.includes(key) ? ofActiveTab(key.slice(own.length)) : (stored?.getItem(key) ?? null),
    setItem(key, value) {
      if (editors.includes(key)) return;
      stored?.setItem(key, value);
      // Not at once: when the setting is switched on, GraphiQL writes the headers just before the setting itself.
      queueMicrotask(stripAll);
    },
    removeItem: (key) => stored?.removeItem(key),
    clear() {
      for (const key of keys()) stored?.removeItem(key);
    },
    get length() {
      return keys().length;
    },
  };
}

/** What the active tab holds for an editor. */
function ofActiveTab(name: string): string | null {
  try {
    const { tabs, activeTabIndex } = JSON.parse(stored?.getItem(tabState) ?? '{}') as {
      readonly tabs?: readonly Readonly<Record<string, string | null>>[];
      readonly activeTabIndex?: number;
    };
    return tabs?.[activeTabIndex ?? 0]?.[name] ?? null;
  } catch {
    return null; // not JSON, so GraphiQL begins with the samples
  }
}

function keys(): string[] {
  return Object.keys(stored ?? {}).filter((key) => key.startsWith(own));
}

function stripAll(): void {
  if (!keepsHeaders()) stored?.removeItem(`${own}headers`);
  for (const key of [`${own}queries`, `${own}favorites`, tabState]) strip(key);
}

function strip(key: string): void {
  const json = stored?.getItem(key) ?? null;
  if (json === null) return;
  try {
    const stripped = JSON.stringify(JSON.parse(json, keepsHeaders() ? withoutPassword : withoutSecrets));
    if (stripped !== json) stored?.setItem(key, stripped);
  } catch {
    stored?.removeItem(key); // not JSON, so GraphiQL could not read it either
  }
}

function withoutSecrets(name: string, value: unknown): unknown {
  return name === 'headers' ? null : withoutPassword(name, value);
}

/** Strings of a document, in both of GraphQL's ways, also one that is not closed yet; and comments, which may have quotes. */
const strings = /#[^\n]*|"""(?:\\"""|[^])*?(?:"""|$)|"(?:[^"\\\n]|\\.)*"?/g;

/** A tab or an entry of the history without what signs a user in: any string or variable may be the password. */
function withoutPassword(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('query' in value)) return value;
  const { query } = value;
  if (typeof query !== 'string' || !/\bsignIn\b/.test(query)) return value;
  return { ...value, query: query.replace(strings, emptied), variables: null };
}

function emptied(text: string): string {
  return text.startsWith('#') ? '#' : '""';
}
