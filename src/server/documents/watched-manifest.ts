import { ConfigError } from '../../config/environment.js';
import { followFile } from '../../config/follow-file.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import { readManifest, type Manifest } from './manifest.js';
import { TrustedDocuments, type TrustMode } from './trusted-documents.js';

/** Where the manifest is, and what holds for all other documents. */
interface TrustSettings {
  readonly path: string;
  readonly mode: TrustMode;
}

/** Trusted documents that follow their file. */
export interface WatchedDocuments {
  readonly documents: TrustedDocuments;
  stop(): void;
}

/**
 * The trusted documents of a gateway, whose `own` are listed besides. The file is read anew when it changes; while it is
 * wrong, what held before goes on. Throws a `ConfigError` if it cannot be used at the start.
 */
export async function watchDocuments(
  settings: TrustSettings | undefined,
  own: readonly string[],
  telemetry: Telemetry,
): Promise<WatchedDocuments> {
  if (!settings) return { documents: new TrustedDocuments(telemetry), stop: () => undefined };
  const { path, mode } = settings;
  const { log } = telemetry;
  const documents = new TrustedDocuments(telemetry, mode);
  /** Rejects if the first reading did: then there is no other. */
  let reading: Promise<unknown>;
  const reread = async (): Promise<void> => {
    try {
      documents.replace(await readManifest(path, own));
      log.info({ documents: documents.size }, 'the trusted documents were read again');
    } catch (err) {
      log.error({ err }, 'TRUSTED_DOCUMENTS was changed and cannot be used: the documents stay as they were');
    }
  };
  // Before the first reading: what changes after it must not be missed.
  const stop = followFile(path, () => void (reading = reading.then(reread, () => undefined)));
  const first = readOrRefuse(path, own);
  reading = first;
  void first.catch(stop);
  documents.replace(await first);
  log.info({ documents: documents.size, mode }, 'the trusted documents were read');
  return { documents, stop };
}

/** The manifest at `path`; throws a `ConfigError` that names the setting if it cannot be used. */
export async function readOrRefuse(path: string, own: readonly string[] = []): Promise<Manifest> {
  return readManifest(path, own).catch((error: unknown) => {
    throw new ConfigError([`TRUSTED_DOCUMENTS: ${path} ${reasonOf(error as NodeJS.ErrnoException)}`]);
  });
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  return code === undefined ? message : `cannot be read (${code})`;
}
