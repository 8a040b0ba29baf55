/**
 * `npm run documents -- <folder or file>… [--output <file>]`: prints or writes a manifest of trusted documents, made from
 * all operations in `.graphql` files: the SHA-256 of each, with the fragments that it needs, and its text; and the same
 * with the `__typename` that the caches of Apollo Client and urql add to what they send. The client package's fragments
 * are known. Exits with 1, and says where, if one does not fit the schema, has no name, or has the name of another.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { addTypenameToDocument } from '@apollo/client/utilities';
import { makeExecutableSchema } from '@graphql-tools/schema';
import {
  concatAST,
  Kind,
  NoUnusedFragmentsRule,
  parse,
  print,
  separateOperations,
  Source,
  specifiedRules,
  validate,
} from 'graphql';

const { values, positionals: paths } = orFail(() =>
  parseArgs({ options: { output: { type: 'string' } }, allowPositionals: true }),
);
if (paths.length === 0)
  fail('Name folders or files: npm run documents -- src --output persisted-documents.json');

function fail(message) {
  console.error(message);
  process.exit(1);
}

function orFail(run) {
  try {
    return run();
  } catch (error) {
    return fail(error.message);
  }
}

function filesAt(path) {
  if (statSync(path).isFile()) return [path];
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' });
  return files.filter((file) => file.endsWith('.graphql')).map((file) => join(path, file));
}

function parseFile(path) {
  try {
    return parse(new Source(readFileSync(path, 'utf8'), path));
  } catch (error) {
    return fail(String(error)); // with the place in the file
  }
}

const root = join(import.meta.dirname, '..');
const folder = join(root, 'schema');
const typeDefs = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
const files = orFail(() => paths.flatMap(filesAt).toSorted((one, two) => one.localeCompare(two)));
const documents = concatAST(files.map(parseFile));
const operations = documents.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
if (operations.length === 0) fail(`There is no operation in ${paths.join(', ')}.`);
const nameless = operations.find(({ name }) => !name);
if (nameless) fail(`An operation in ${nameless.loc.source.name} has no name.`);
const fragmentsIn = ({ definitions }) => definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
const own = new Set(fragmentsIn(documents).map(({ name }) => name.value));
// Those of the files count before those of the package that have the same names.
const shipped = fragmentsIn(parseFile(join(root, 'src/client/operations.graphql')));
const known = shipped.filter(({ name }) => !own.has(name.value));
const all = { ...documents, definitions: [...documents.definitions, ...known] };
const rules = specifiedRules.filter((rule) => rule !== NoUnusedFragmentsRule);
const faults = validate(makeExecutableSchema({ typeDefs }), all, rules);
if (faults.length > 0) fail(faults.map(String).join('\n\n'));
// The operation first, as clients send it.
const separate = separateOperations({ ...all, definitions: [...operations, ...fragmentsIn(all)] });
const texts = Object.values(separate)
  .flatMap((document) => [document, addTypenameToDocument(document)])
  .map(print);
const hash = (text) => createHash('sha256').update(text).digest('hex');
const manifest = JSON.stringify(Object.fromEntries(texts.map((text) => [hash(text), text])), null, 2);
if (values.output === undefined) console.log(manifest);
else orFail(() => replaceFile(values.output, `${manifest}\n`));

/** A gateway that follows the file finds it whole. */
function replaceFile(path, content) {
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
}
