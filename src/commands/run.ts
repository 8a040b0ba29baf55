import { randomBytes } from 'node:crypto';
import { inspect, parseArgs } from 'node:util';
import { ConfigError } from '../config/environment.js';
import { CommandError, say, warn, type Program } from './program.js';

const usage = `Usage: trivium [command]

  start            the gateway, with a sandbox of the services unless they are set (npm start)
  sandbox          the sandbox alone (npm run sandbox)
  check [--probe]  reads the settings and says what is wrong, missing or unknown;
                   with --probe also reaches the database, NATS, the services and the issuer
  keys             prints a new value for SECRET_KEYS
  backup FILE      copies the embedded database, which a gateway may be using, and its key
  restore FILE     puts such a copy in the place of the embedded database, which nobody may be using
  --version        prints the version
  --help           prints this

Settings are environment variables, or lines of a file .env; .env.example shows them all.`;

/** Runs the command that these arguments name, loading only what it needs; ends the process with 1 if it fails. */
export async function run(args: readonly string[], program: Program): Promise<void> {
  try {
    await dispatch(args, program);
  } catch (error) {
    fail(error);
  }
}

async function dispatch(args: readonly string[], program: Program): Promise<void> {
  const { values, positionals } = readArguments(args);
  if (values.help) return say(usage);
  if (values.version) return say(program.version);
  const [command = 'start', ...more] = positionals;
  const takesFile = command === 'backup' || command === 'restore';
  const surplus = values.probe && command !== 'check' ? '--probe' : more[takesFile ? 1 : 0];
  if (surplus !== undefined)
    throw new CommandError(`trivium ${command} does not take ${surplus}: see trivium --help.`);
  switch (command) {
    case 'start':
      return (await import('./start.js')).runGateway(program, fail);
    case 'sandbox':
      return (await import('./sandbox.js')).runSandbox(program, fail);
    case 'check':
      return (await import('./check.js')).runCheck(program, values.probe === true);
    case 'keys':
      return say(randomBytes(32).toString('base64'));
    case 'backup':
      return (await import('./backup.js')).runBackup(program, more[0]);
    case 'restore':
      return (await import('./backup.js')).runRestore(program, more[0]);
    default:
      throw new CommandError(`Unknown command ${command}: see trivium --help.`);
  }
}

function readArguments(args: readonly string[]) {
  const options = {
    help: { type: 'boolean', short: 'h' },
    version: { type: 'boolean', short: 'v' },
    probe: { type: 'boolean' },
  } as const;
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    const [fault] = (error as Error).message.split('. ');
    throw new CommandError(`${fault}: see trivium --help.`);
  }
}

/** Prints what the operator can mend as one message, anything else with its stack. */
function fail(error: unknown): never {
  warn(error instanceof Error && isMendable(error) ? error.message : inspect(error));
  process.exit(1);
}

/** Wrong settings, an unusable database, and failed system calls (not told by `code`, which other errors have too). */
function isMendable(error: Error): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  const known = error instanceof ConfigError || error instanceof CommandError;
  return known || code === 'DATABASE_UNUSABLE' || syscall !== undefined;
}
