/**
 * Summarises a report of Vitest's JSON reporter: prints the names of failed and skipped tests, and of those that were
 * tried again with how they had failed, then the line `N passed, N failed, N skipped`. A file that could not be run
 * counts as one failure. With `--strict`, exits with 1 if a test failed, none passed, or a property was refuted although
 * it held when tried again; without `--may-skip` also if a test was skipped.
 */
import { readFileSync } from 'node:fs';

const [path, ...options] = process.argv.slice(2);
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

// What succeeded once it was tried again. Not so a counterexample: other inputs at random do not undo it.
const isRefuted = ({ failureMessages }) => /Property failed after|SEED=/.test(failureMessages.join('\n'));
const triedAgain = passed.filter(({ failureMessages }) => failureMessages.length > 0);
for (const test of triedAgain) {
  const [failure] = test.failureMessages;
  const said = `${isRefuted(test) ? 'refuted' : 'tried again'}: ${test.fullName}`;
  console.log([said, ...failure.split('\n').slice(0, 5)].join('\n    '));
}
for (const name of failed) console.log(`failed: ${name}`);
for (const { fullName } of skipped) console.log(`skipped: ${fullName}`);
console.log(`${passed.length} passed, ${failed.length} failed, ${skipped.length} skipped`);

const isIncomplete = skipped.length > 0 && !options.includes('--may-skip');
const isPassed = failed.length === 0 && passed.length > 0 && !triedAgain.some(isRefuted) && !isIncomplete;
if (options.includes('--strict') && !isPassed) process.exitCode = 1;
