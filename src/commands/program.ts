/** A running sandbox, as far as the commands need it. */
export interface RunningSandbox {
  readonly url: string;
  /** Who can sign in with no more ado. */
  readonly users: readonly { readonly name: string; readonly email: string; readonly password: string }[];
  readonly settings: Readonly<Record<string, string>>;
  deliverTo(url: string): void;
  stop(): Promise<void>;
}

/** The module that starts one. */
export interface SandboxModule {
  startSandbox(options: {
    readonly port: number;
    readonly traffic: boolean;
    readonly deliverTo?: string;
    readonly publicUrl?: string | undefined;
    readonly secretsFile?: string;
  }): Promise<RunningSandbox>;
}

/** What the process is given; only `main` reads it. */
export interface Program {
  readonly version: string;
  /** That of the process: libraries, which read it by themselves, see what is written to it. */
  readonly environment: Record<string, string | undefined>;
  /** Loads the sandbox, which a gateway in production never does. */
  readonly loadSandbox: () => Promise<SandboxModule>;
  /** The program of the thread that sends traces. */
  readonly traceSender: URL;
}

/** A command's failure that is told without a stack: a sentence for the operator. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** Writes a line to standard output. */
export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Writes a line to standard error. */
export function warn(text: string): void {
  process.stderr.write(`${text}\n`);
}
