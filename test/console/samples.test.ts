import { readdirSync, readFileSync } from 'node:fs';
import { buildSchema, parse, validate } from 'graphql';
import { expect, test } from 'vitest';

const folder = 'src/console/explorer/samples';
const schema = buildSchema(readFileSync('src/generated/schema.graphql', 'utf8'));

test.each(readdirSync(folder))('%s is valid against the schema', (file) => {
  const document = parse(readFileSync(`${folder}/${file}`, 'utf8'));
  expect(validate(schema, document)).toEqual([]);
});
