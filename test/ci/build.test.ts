import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, inject, test } from 'vitest';

test('a build that fails leaves the one before as it was', () => {
  const project = mkdtempSync(join(inject('testDirectory'), 'build-'));
  for (const name of ['.ci', 'package.json', 'package-lock.json', 'tsconfig.json'])
    cpSync(name, join(project, name), { recursive: true });
  symlinkSync(resolve('node_modules'), join(project, 'node_modules'));
  mkdirSync(join(project, 'src'));
  mkdirSync(join(project, 'dist'));
  writeFileSync(join(project, 'src/main.ts'), "import './missing.js';");
  writeFileSync(join(project, 'dist/main.js'), '// built before');

  const { status, stderr } = spawnSync(process.execPath, [join(project, '.ci/build.js')], {
    encoding: 'utf8',
  });

  expect(status).toBe(1);
  expect(stderr).toContain('The build failed, and the one before stays');
  expect(readFileSync(join(project, 'dist/main.js'), 'utf8')).toBe('// built before');
  expect(readdirSync(project).filter((name) => name.startsWith('dist.'))).toEqual([]);
});
