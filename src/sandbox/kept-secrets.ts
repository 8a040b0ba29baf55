import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { PaymentEndpoint } from './endpoints.js';

/** The secrets that a sandbox begins with. */
export interface InitialSecrets {
  readonly clientSecret?: string;
  readonly shipments?: string;
  readonly payments?: Pick<PaymentEndpoint, 'secret' | 'previous'>;
}

/** The same at every start; they protect nothing. */
const usual: Required<InitialSecrets> = {
  clientSecret: 'sandbox-client-secret-that-protects-nothing',
  shipments: 'whsec_sandbox-shipments-that-protects-nothing',
  payments: { secret: 'whsec_sandbox-payments-that-protects-nothing', previous: undefined },
};

const keptShape = z.object({
  secret: z.string(),
  previous: z.object({ secret: z.string(), expiresAt: z.number() }).optional(),
});

/**
 * The usual secrets, that of payments as the last rotation left it: a gateway that was started before has what was
 * rotated in its database. `keep` stores the result of a rotation in the file.
 */
export function openKeptSecrets(file: string): {
  readonly initial: InitialSecrets;
  keep(rotated: PaymentEndpoint): void;
} {
  return {
    initial: { ...usual, payments: { previous: undefined, ...(readKept(file) ?? usual.payments) } },
    keep({ secret, previous }) {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      writeFileSync(`${file}.new`, JSON.stringify({ secret, previous }), { mode: 0o600 });
      renameSync(`${file}.new`, file);
    },
  };
}

/** What is in the file; undefined if there is none, or it is not ours. */
function readKept(file: string): z.infer<typeof keptShape> | undefined {
  try {
    return keptShape.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}
