import { GraphQLError } from 'graphql';
import { createCache } from '../../lib/cache/cache.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import { sha256, sha256Id, type Manifest } from './manifest.js';
import type { RequestedDocument } from './requested-document.js';

/**
 * What happens to a document that is not listed: `prefer` runs it, `log` runs it and logs it once, `only` refuses it.
 */
export type TrustMode = 'log' | 'prefer' | 'only';

/** The text to run, or why nothing is run. */
export type Verdict =
  | { readonly text: string; readonly refusal?: undefined; readonly stranger?: string | undefined }
  | { readonly text?: undefined; readonly refusal: GraphQLError; readonly stranger?: string | undefined };

/** As many strangers are remembered as logged. */
const maxLogged = 10_000;

/**
 * Which documents may run, and which text an id stands for; on every transport the same, with one exception. Without a
 * manifest, a hash of Apollo's beside a text is refused over HTTP, where Apollo Client then sends the text alone. By
 * websocket it would not, so there the text runs.
 */
export class TrustedDocuments {
  readonly #mode: TrustMode | undefined;
  #manifest: Manifest | undefined = undefined;
  readonly #log: Telemetry['log'];
  readonly #count: (outcome: 'refused' | 'ran' | 'unknown') => void;
  readonly #logged = createCache<true>(maxLogged, Infinity);

  /** Until it has a manifest any text runs, and no id is known. */
  constructor({ log, metrics }: Telemetry, mode?: TrustMode) {
    this.#log = log;
    this.#mode = mode;
    this.#count = (outcome) => void (metrics.untrustedDocuments.of(outcome).value += 1);
    metrics.gauge('trivium_trusted_documents', 'Documents in the manifest that is in use.', () => this.size);
  }

  /** Whether there is a manifest, so that ids are known. */
  get knowsIds(): boolean {
    return this.#manifest !== undefined;
  }

  /** How many documents the manifest has. */
  get size(): number {
    return this.#manifest?.size ?? 0;
  }

  /** From now on this manifest holds. */
  replace(manifest: Manifest): void {
    this.#manifest = manifest;
  }

  /** What is to be run for a request; counts what is not trusted, and logs each such document once. */
  take(requested: RequestedDocument): Verdict {
    const verdict = this.find(requested);
    const { stranger, refusal } = verdict;
    if (stranger !== undefined) this.#note(stranger, refusal !== undefined);
    else if (refusal?.extensions['code'] === 'PERSISTED_QUERY_NOT_FOUND') this.#count('unknown');
    return verdict;
  }

  /** The same without a trace of it. */
  find(requested: RequestedDocument): Verdict {
    const { text } = requested;
    if (!this.#manifest) return text === undefined ? { refusal: notSupported() } : { text };
    const ids = [requested.documentId, requested.hash && sha256IdOf(requested.hash, this.#manifest)];
    const given = ids.filter((id) => id !== undefined);
    return text === undefined ? findAll(given, this.#manifest) : this.#judge(text, given, this.#manifest);
  }

  #judge(text: string, ids: readonly string[], manifest: Manifest): Verdict {
    const canonical = this.#mode === 'prefer' && ids.length === 0 ? '' : manifest.canonical(text);
    const isListed = canonical !== undefined || text === '';
    if (!isListed && this.#mode === 'only') return { refusal: notTrusted(), stranger: text };
    if (!ids.every((id) => fits(id, text, manifest))) return { refusal: mismatch() };
    return isListed || this.#mode !== 'log' ? { text } : { text, stranger: text };
  }

  #note(stranger: string, isRefused: boolean): void {
    this.#count(isRefused ? 'refused' : 'ran');
    const document = sha256(stranger);
    if (this.#logged.get(document)) return;
    this.#logged.set(document, true);
    // Not its text, which may have somebody's values in it.
    this.#log.warn(
      { document, operations: namesIn(stranger), characters: stranger.length },
      isRefused ? refused : ran,
    );
  }
}

const refused = 'a document that is not trusted was refused';
const ran = 'a document that is not trusted was run';
const maxNames = 5;

/** The names of the operations in a text, the first few, as they seem to be. */
function namesIn(text: string): readonly string[] {
  const names = text.slice(0, 10_000).matchAll(/\b(?:query|mutation|subscription)\s+([A-Za-z_]\w{0,99})/g);
  return Array.from(names, ([, name]) => name!).slice(0, maxNames);
}

/** What Apollo's hash names: a key, or the digest of a text. */
function sha256IdOf(hash: string, manifest: Manifest): string {
  return manifest.find(hash) === undefined ? `sha256:${hash}` : hash;
}

/** The one text that all these ids name. */
function findAll(ids: readonly string[], manifest: Manifest): Verdict {
  const [text, ...others] = ids.map((id) => manifest.find(id));
  if (text === undefined || others.includes(undefined)) return { refusal: notFound() };
  return others.every((other) => other === text) ? { text } : { refusal: mismatch() };
}

/** Whether an id may stand beside a text: as its name or, if it is not listed, as its digest or no digest at all. */
function fits(id: string, text: string, manifest: Manifest): boolean {
  const listed = manifest.find(id);
  if (listed !== undefined) return manifest.canonical(listed) === manifest.canonical(text);
  const [, digest] = sha256Id.exec(id) ?? [];
  return digest === undefined || digest === sha256(text);
}

/** With the messages and the status by which clients that send ids know these errors. */
function notFound(): GraphQLError {
  const extensions = { code: 'PERSISTED_QUERY_NOT_FOUND', http: { status: 200 } };
  return new GraphQLError('PersistedQueryNotFound', { extensions });
}

function notSupported(): GraphQLError {
  const extensions = { code: 'PERSISTED_QUERY_NOT_SUPPORTED', http: { status: 200 } };
  return new GraphQLError('PersistedQueryNotSupported', { extensions });
}

function notTrusted(): GraphQLError {
  const message = 'This gateway runs only documents that it lists, and this is none of them.';
  return new GraphQLError(message, { extensions: { code: 'DOCUMENT_NOT_TRUSTED', http: { status: 400 } } });
}

function mismatch(): GraphQLError {
  const message = 'The id of the document and its text, or its two ids, name different documents.';
  return new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT', http: { status: 400 } } });
}
