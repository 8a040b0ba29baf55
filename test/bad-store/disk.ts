import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';

/** Runs a program; if it fails, throws with its output. */
export function run(program: string, ...args: string[]): void {
  execFileSync(program, args, { stdio: 'pipe' });
}

/** Mounts a disk of so many megabytes and returns its folder; throws if this machine does not allow it. */
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

/** Unmounts a disk, even if it is in use. */
export function unmount(folder: string): void {
  run('umount', '--lazy', folder);
  rmdirSync(folder);
}

/** Fills the disk with this file. */
export function fill(file: string): void {
  expect(() => run('dd', 'if=/dev/zero', `of=${file}`, 'bs=1k')).toThrow('No space left');
}

/** Whether this machine allows it; always true on CI, where the tests fail if anything is missing. */
function isAllowed(attempt: () => void): boolean {
  if (process.env['CI'] === 'true') return true;
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}

/** Whether tests can mount a disk of their own: it takes root. */
export const canMount = isAllowed(() => unmount(mountDisk(1)));

/** Whether tests can make a file or a folder immutable: it takes root. */
export const canFreeze = isAllowed(() => {
  const folder = mkdtempSync(join(tmpdir(), 'trivium-frozen-'));
  try {
    run('chattr', '+i', folder);
    run('chattr', '-i', folder);
  } finally {
    rmdirSync(folder);
  }
});
