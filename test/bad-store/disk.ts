import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';

/** Runs a program; throws, with what it says, where it fails. */
export function run(program: string, ...args: string[]): void {
  execFileSync(program, args, { stdio: 'pipe' });
}

/** A disk of so many megabytes; throws where this machine gives us none. */
export function mountDisk(megabytes: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'trivium-disk-'));
  try {
    run('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder);
  } catch (error) {
    rmdirSync(folder);
    throw error;
  }
  return folder;
}

/** Takes a disk away, whoever still uses it. */
export function unmount(folder: string): void {
  run('umount', '--lazy', folder);
  rmdirSync(folder);
}

/** Takes all the room that is left on the disk of this file. */
export function fill(file: string): void {
  expect(() => run('dd', 'if=/dev/zero', `of=${file}`, 'bs=1k')).toThrow('No space left');
}

/** Whether this machine lets us do it; on CI those tests run, and fail, whatever is missing. */
function can(attempt: () => void): boolean {
  if (process.env['CI'] === 'true') return true;
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}

/** Whether tests may have a disk of their own: it takes root. */
export const canMount = can(() => unmount(mountDisk(1)));

/** Whether tests may make a file, or a folder, one that nobody writes: it takes root. */
export const canFreeze = can(() => {
  const folder = mkdtempSync(join(tmpdir(), 'trivium-frozen-'));
  try {
    run('chattr', '+i', folder);
    run('chattr', '-i', folder);
  } finally {
    rmdirSync(folder);
  }
});
