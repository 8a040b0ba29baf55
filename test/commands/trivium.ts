import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { inject } from 'vitest';

/** Runs a command of the built program in an empty folder, as an operator would. */
export async function trivium(
  args: readonly string[],
  env: Record<string, string> = {},
  options: string[] = [],
) {
  const cwd = mkdtempSync(join(inject('testDirectory'), 'command-'));
  const given = { PATH: process.env['PATH'], ...env };
  return new Promise<{ code: number; out: string; told: string; cwd: string }>((done) => {
    const command = [...options, resolve('dist/main.js'), ...args];
    const child = execFile(process.execPath, command, { cwd, env: given }, (_, out, told) =>
      done({ code: child.exitCode!, out, told, cwd }),
    );
  });
}
