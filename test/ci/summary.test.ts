import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';

const passed = { fullName: 'adds', status: 'passed', failureMessages: [] };
const late = { fullName: 'waits', status: 'passed', failureMessages: ['Error: too late\n    at a.ts'] };
const message = 'Error: Property failed after 3 tests\n{ seed: 7 }\nCounterexample: [0]';
const refuted = { fullName: 'holds', status: 'passed', failureMessages: [message] };
const seeded = { fullName: 'survives', status: 'passed', failureMessages: ['Error: lost\nSEED=7'] };
const failed = { fullName: 'divides', status: 'failed', failureMessages: ['Error: by zero'] };
const skipped = { fullName: 'mounts', status: 'pending', failureMessages: [] };

test.each([
  ['all passed', [passed], ['--strict'], 0, '1 passed, 0 failed, 0 skipped\n'],
  ['one was late', [late], ['--strict'], 0, 'tried again: waits\n    Error: too late\n'],
  ['a property was refuted', [refuted], ['--strict'], 1, 'refuted: holds\n    Error: Property failed'],
  ['a run of a seed failed', [passed, seeded], ['--strict'], 1, 'refuted: survives\n'],
  ['a property was refuted, which is only told', [refuted], [], 0, '    Counterexample: [0]\n'],
  ['one failed', [passed, failed], ['--strict'], 1, 'failed: divides\n1 passed, 1 failed, 0 skipped\n'],
  ['one was skipped', [passed, skipped], ['--strict'], 1, 'skipped: mounts\n1 passed, 0 failed, 1 skipped\n'],
  ['one was skipped, as it may be', [passed, skipped], ['--strict', '--may-skip'], 0, 'skipped: mounts\n'],
  ['none passed', [skipped], ['--strict', '--may-skip'], 1, '0 passed, 0 failed, 1 skipped\n'],
])('the summary of a report where %s', (_, assertionResults, options, status, text) => {
  const report = join(mkdtempSync(join(inject('testDirectory'), 'report-')), 'report.json');
  writeFileSync(report, JSON.stringify({ testResults: [{ status: 'passed', assertionResults }] }));
  const ran = spawnSync(process.execPath, ['.ci/summary.js', report, ...options], { encoding: 'utf8' });
  expect([ran.status, ran.stderr]).toEqual([status, '']);
  expect(ran.stdout).toContain(text);
});
