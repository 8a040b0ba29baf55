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

/** A copy of the checkout as `npm ci --omit=dev` leaves it, with the build. */
function productionCheckout(): string {
  const project = mkdtempSync(join(inject('testDirectory'), 'build-'));
  const names = [
    '.ci',
    'src',
    'docs',
    'README.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    'LICENSE',
  ];
  for (const name of [...names, 'package.json', 'package-lock.json', 'tsconfig.json', 'dist/.sources'])
    cpSync(name, join(project, name), { recursive: true });
  return project;
}

test.each(['src/main.ts', 'LICENSE'])(
  'without the packages for development, a fresh build is taken, and one of another %s names what is missing',
  (changed) => {
    const project = productionCheckout();
    const run = () => {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [join(project, '.ci/build.js'), '--if-stale'],
        { encoding: 'utf8' },
      );
      return [status, stdout, stderr];
    };
    expect(run()).toEqual([0, '', '']);
    writeFileSync(join(project, changed), '// changed');
    expect(run()).toEqual([1, 'Building …\n', expect.stringContaining('npm ci --include=dev')]);
  },
);

test('an old Node.js is told which is needed before it meets what it does not know', () => {
  const versions = "{ value: { ...process.versions, node: '18.20.4' } }";
  const source = `Object.defineProperty(process, 'versions', ${versions})`;
  const options = ['--import', `data:text/javascript,${encodeURIComponent(source)}`];
  const { status, stderr } = spawnSync(process.execPath, [...options, '.ci/build.js', '--if-stale'], {
    encoding: 'utf8',
  });
  expect(status).toBe(1);
  expect(stderr).toBe('Trivium needs Node.js ^20.19 || ^22.13 || >=24; this is 18.20.4.\n');
});

test('a build that fails leaves the one before as it was', () => {
  const project = mkdtempSync(join(inject('testDirectory'), 'build-'));
  for (const name of ['.ci', 'package.json', 'package-lock.json', 'tsconfig.json', 'LICENSE'])
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
