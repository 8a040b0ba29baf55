import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';

const makeFolder = pathToFileURL('src/store/make-folder.ts').href;

// In a process of its own: one that does not end could not be stopped from within.
test.skipIf(!existsSync('/proc/self'))('where no folder can be made, that is an error at once', () => {
  const program = `import { makeFolder } from '${makeFolder}'; makeFolder('/proc/none/of/these');`;
  const options = { stdio: 'pipe', timeout: 20_000, killSignal: 'SIGKILL', encoding: 'utf8' } as const;
  const run = () =>
    execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], options);
  expect(run).toThrow("ENOENT: no such file or directory, mkdir '/proc/none'");
});
