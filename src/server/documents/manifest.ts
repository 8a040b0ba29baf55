import { createHash } from 'node:crypto';
import { isUtf8 } from 'node:buffer';
import { stat, readFile } from 'node:fs/promises';
import { Source, stripIgnoredCharacters, TokenKind } from 'graphql';
import { isObject, withoutMark } from '../../lib/json.js';
import { tokensOf } from '../operation/cost/document-tokens.js';

/** The documents of a manifest: what each of their names stands for. */
export interface Manifest {
  /** How many documents there are. */
  readonly size: number;
  /** The text that an id names: a key as it stands in the manifest, or `sha256:` and the digest of a text. */
  find(id: string): string | undefined;
  /**
   * What is the same for all texts of a listed document, whatever blanks, commas and comments stand in them, and
   * whatever the order of its operations and fragments is; undefined if it is not listed, or far longer than any listed.
   */
  canonical(text: string): string | undefined;
}

/** Why a manifest cannot be used. */
class ManifestError extends Error {}

/** In bytes: thousands of documents. A longer file would hold up the process while it is read. */
export const maxManifestBytes = 16 * 1024 * 1024;

/** The SHA-256 of a text, in hexadecimal digits. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** An id that is a SHA-256, with or without its prefix. */
export const sha256Id = /^(?:sha256:)?([0-9a-f]{64})$/;

/** In characters: a text of this length takes some milliseconds to strip. */
const alwaysStripped = 64 * 1024;

type Pair = readonly [id: string, text: string];

/**
 * Reads the manifest at `path`. `own` are texts that are listed besides. Throws a `ManifestError` if it is none, empty
 * or too long, or if an id names two documents; and what the file system throws.
 */
export async function readManifest(path: string, own: readonly string[] = []): Promise<Manifest> {
  const { size } = await stat(path);
  if (size > maxManifestBytes)
    throw new ManifestError(`has ${size} bytes; at most ${maxManifestBytes} are read`);
  const bytes = await readFile(path);
  if (!isUtf8(bytes)) throw new ManifestError('is not UTF-8');
  return indexManifest(pairsIn(bytes.toString()), own);
}

/** The pairs of id and document in the text of a manifest. */
function pairsIn(text: string): readonly Pair[] {
  const content = parseObject(text);
  const pairs = 'format' in content ? pairsOfApollo(content) : pairsOfMap(content, text);
  if (pairs.length === 0) throw new ManifestError('has no documents');
  return pairs;
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  let content: unknown;
  try {
    content = JSON.parse(withoutMark(text));
  } catch {
    throw new ManifestError(text.trim() === '' ? 'is empty' : 'is not JSON, or not all of it');
  }
  if (!isObject(content)) throw new ManifestError('is not a JSON object');
  return content;
}

/** As `@apollo/generate-persisted-query-manifest` writes it. */
function pairsOfApollo({ format, version, operations }: Readonly<Record<string, unknown>>): readonly Pair[] {
  if (format !== 'apollo-persisted-query-manifest' || version !== 1)
    throw new ManifestError(
      `has the format ${JSON.stringify(format)}, version ${JSON.stringify(version)}; known is "apollo-persisted-query-manifest", version 1`,
    );
  if (!Array.isArray(operations)) throw new ManifestError('has no list `operations`');
  return operations.map((operation: unknown, at): Pair => {
    const { id, body } = isObject(operation) ? operation : {};
    if (typeof id !== 'string' || typeof body !== 'string')
      throw new ManifestError(`has no strings \`id\` and \`body\` in operation ${at + 1}`);
    return [id, body];
  });
}

/** A map from id to document, as Relay's compiler and GraphQL Code Generator write it. */
function pairsOfMap(content: Readonly<Record<string, unknown>>, text: string): readonly Pair[] {
  const pairs = Object.entries(content).map(([id, document]): Pair => {
    if (typeof document !== 'string') throw new ManifestError(`has no document as a string for ${quote(id)}`);
    return [id, document];
  });
  // `JSON.parse` silently keeps the last of those that are repeated.
  const names = Array.from(text.matchAll(/"(?:[^"\\]|\\.)*"\s*(:?)/g)).filter(([, colon]) => colon);
  if (names.length > pairs.length) throw new ManifestError('has an id twice');
  return pairs;
}

/** Throws a `ManifestError` for an id that names two documents. */
function indexManifest(pairs: readonly Pair[], own: readonly string[]): Manifest {
  const texts = new Map<string, string>();
  /** By the text, by the text without what is the same to GraphQL, and by itself. */
  const canonicals = new Map<string, string>();
  const name = (id: string, text: string) => {
    const known = texts.get(id);
    if (known !== undefined && known !== text)
      throw new ManifestError(`has two documents for the id ${quote(id)}`);
    texts.set(id, text);
  };
  let longest = 0;
  const list = (text: string, id: string) => {
    const bare = strip(text, id);
    const canonical = sorted(bare);
    canonicals.set(text, canonical).set(bare, canonical).set(canonical, canonical);
    name(`sha256:${sha256(text)}`, text);
    longest = Math.max(longest, text.length);
  };
  for (const [id, text] of pairs) {
    name(id, text);
    if (sha256Id.test(id)) name(id.replace(/^(?!sha256:)/, 'sha256:'), text);
    list(text, id);
  }
  for (const text of own) list(text, sha256(text));
  return {
    size: new Set(pairs.map(([, text]) => text)).size,
    find: (id) => texts.get(id),
    canonical(text) {
      const known = canonicals.get(text);
      if (known !== undefined || text.length > Math.max(alwaysStripped, 2 * longest)) return known;
      const bare = stripped(text);
      return canonicals.get(bare) ?? canonicals.get(sorted(bare));
    },
  };
}

/** Without what is the same to GraphQL; throws a `ManifestError` if it is no document. */
function strip(text: string, id: string): string {
  const bare = stripped(text);
  if (bare === '') throw new ManifestError(`has no GraphQL document for the id ${quote(id)}`);
  return bare;
}

/** Empty if it is no document. */
function stripped(text: string): string {
  try {
    return stripIgnoredCharacters(text);
  } catch {
    return '';
  }
}

/** The definitions of a stripped document in one order: each tool has its own for the fragments of an operation. */
function sorted(bare: string): string {
  const definitions: string[] = [];
  let start = 0;
  let depth = 0;
  for (const { kind, end } of tokensOf(new Source(bare), Infinity)) {
    if (opening.has(kind)) depth++;
    else if (closing.has(kind)) depth--;
    // All that can be executed ends with its selections.
    if (depth > 0 || kind !== TokenKind.BRACE_R) continue;
    definitions.push(bare.slice(start, end));
    start = end;
  }
  if (start < bare.length) definitions.push(bare.slice(start));
  // Parted by what is in no stripped document but within a string, so that nothing else joins to the same.
  return definitions.toSorted().join('\n');
}

const opening: ReadonlySet<TokenKind> = new Set([TokenKind.PAREN_L, TokenKind.BRACKET_L, TokenKind.BRACE_L]);
const closing: ReadonlySet<TokenKind> = new Set([TokenKind.PAREN_R, TokenKind.BRACKET_R, TokenKind.BRACE_R]);

function quote(id: string): string {
  return JSON.stringify(id.length > 100 ? `${id.slice(0, 100)}…` : id);
}
