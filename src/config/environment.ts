import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { z } from 'zod';
import { withoutMark } from '../lib/json.js';

/** What is wrong with the settings, a line for each fault; never a secret's value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`Invalid settings:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.faults = faults;
  }
}

/** The environment, as the process got it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Adds the settings in the file `.env`, if there is one, to an environment, which takes precedence. */
export function addEnvFile(environment: Record<string, string | undefined>): void {
  if (!existsSync('.env')) return;
  const settings = parseEnv(withoutMark(readFileSync('.env', 'utf8')));
  for (const [name, value] of Object.entries(settings)) environment[name] ??= value;
}

/** The environment, its values without the blanks and line breaks around them; those that are empty count as absent. */
export function trimmed(environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment)
      .map(([name, value]) => [name, value?.trim()] as const)
      .filter(([, value]) => value),
  );
}

/**
 * Reads settings of these names from files, too: `NAME_FILE` is the path of a file that holds the value; what is around
 * it is dropped: a byte order mark, blanks and line breaks. What is wrong is added to `faults`.
 */
export function withFiles(
  environment: Environment,
  names: readonly string[],
  read: (path: string) => string,
  faults: string[],
): Environment {
  const given = { ...environment };
  for (const name of names) {
    const path = given[`${name}_FILE`];
    if (path === undefined) continue;
    if (given[name] !== undefined) faults.push(`${name}: set either it or ${name}_FILE, not both`);
    delete given[name];
    try {
      const text = read(path).trim();
      if (text === '') faults.push(`${name}_FILE: the file is empty`);
      else given[name] = text;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      faults.push(`${name}_FILE: the file cannot be read${code === undefined ? '' : ` (${code})`}`);
    }
  }
  return given;
}

/** The faults that validation found, each after the name of its setting, or `NAME_FILE` if it is among `inFiles`. */
export function faultsOf(
  { error }: z.ZodSafeParseResult<unknown>,
  inFiles: readonly string[] = [],
): string[] {
  return (error?.issues ?? []).map(({ path: [name, at], message }) => {
    const entry = typeof at === 'number' ? `entry ${at + 1} ` : '';
    const file = inFiles.includes(name as string) ? '_FILE' : '';
    return `${name as string}${file}: ${entry}${message}`;
  });
}
