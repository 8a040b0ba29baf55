/**
 * Summarises a report of Vitest's JSON reporter: prints the names of failed and skipped tests, and of those that were
 * tried again, then the line
 * `N passed, N failed, N skipped`. A file that could not be run counts as one failure. With `--strict`, exits with 1 if
 * a test failed, none passed or, on CI, one was skipped.
 */
import { readFileSync } from 'node:fs';

const [path, strict] = process.argv.slice(2);
const text = readFileSync(path, 'utf8');
if (text === '') {
  console.log('There is no report of the tests: 0 passed, 0 failed, 0 skipped');
  process.exit(1);
}

const files = JSON.parse(text).testResults;
const tests = files.flatMap((file) => file.assertionResults);
const broken = files.filter((file) => file.status === 'failed' && !file.assertionResults.some(isFailed));
const failed = [...tests.filter(isFailed).map(({ fullName }) => fullName), ...broken.map(({ name }) => name)];
const passed = tests.filter(({ status }) => status === 'passed');
const skipped = tests.filter((test) => test.status !== 'passed' && !isFailed(test));

function isFailed({ status }) {
  return status === 'failed';
}

// What succeeded once it was tried again.
for (const { fullName, failureMessages } of passed)
  if (failureMessages.length > 0) console.log(`tried again: ${fullName}`);
for (const name of failed) console.log(`failed: ${name}`);
for (const { fullName } of skipped) console.log(`skipped: ${fullName}`);
console.log(`${passed.length} passed, ${failed.length} failed, ${skipped.length} skipped`);

const mayNotSkip = process.env.CI === 'true' && skipped.length > 0;
if (strict === '--strict' && (failed.length > 0 || passed.length === 0 || mayNotSkip)) process.exitCode = 1;
