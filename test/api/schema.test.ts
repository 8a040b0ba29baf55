import { readdirSync, readFileSync } from 'node:fs';
import {
  buildSchema,
  extendSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isNonNullType,
  isObjectType,
  isSpecifiedDirective,
  isSpecifiedScalarType,
  lexicographicSortSchema,
  parse,
  printSchema,
  type GraphQLField,
  type GraphQLInputObjectType,
  type GraphQLSchema,
} from 'graphql';
import { describe, expect, test } from 'vitest';
import { createSchema } from '../support/schema.js';

const folder = new URL('../../schema/', import.meta.url);
const sdl = readdirSync(folder)
  .filter((name) => name.endsWith('.graphql'))
  .map((name) => readFileSync(new URL(name, folder), 'utf8'));

function typesOf(schema: GraphQLSchema) {
  return Object.values(schema.getTypeMap()).filter(
    (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
  );
}

const fieldsOf = (schema: GraphQLSchema) =>
  typesOf(schema)
    .filter((type) => isObjectType(type) || isInterfaceType(type))
    .flatMap((type) => Object.values(type.getFields()).map((field) => [type.name, field] as const));

const inputsOf = (schema: GraphQLSchema) => typesOf(schema).filter(isInputObjectType);

const mutationsOf = (schema: GraphQLSchema): readonly GraphQLField<unknown, unknown>[] =>
  Object.values(schema.getMutationType()?.getFields() ?? {});

/** What lacks a description: `Type`, `Type.field`, `Type.field(argument)`, `Enum.VALUE`, `@directive`. */
function undescribed(schema: GraphQLSchema): readonly string[] {
  const directives = schema.getDirectives().filter((directive) => !isSpecifiedDirective(directive));
  const all = [
    ...typesOf(schema).map((type) => [type.name, type] as const),
    ...directives.map((directive) => [`@${directive.name}`, directive] as const),
    ...fieldsOf(schema).flatMap(([type, field]) => [
      [`${type}.${field.name}`, field] as const,
      ...field.args.map((argument) => [`${type}.${field.name}(${argument.name})`, argument] as const),
    ]),
    ...inputsOf(schema).flatMap((type) =>
      Object.values(type.getFields()).map((field) => [`${type.name}.${field.name}`, field] as const),
    ),
    ...typesOf(schema)
      .filter(isEnumType)
      .flatMap((type) => type.getValues().map((value) => [`${type.name}.${value.name}`, value] as const)),
  ];
  return all.filter(([, { description }]) => !description?.trim()).map(([name]) => name);
}

/** Input types that contain themselves, directly or through others. */
function recursiveInputs(schema: GraphQLSchema): readonly string[] {
  const within = (type: GraphQLInputObjectType) =>
    Object.values(type.getFields())
      .map((field) => getNamedType(field.type))
      .filter(isInputObjectType);
  const reaches = (type: GraphQLInputObjectType) => {
    const reached = new Set(within(type));
    for (const next of reached) for (const more of within(next)) reached.add(more);
    return reached.has(type);
  };
  return inputsOf(schema)
    .filter(reaches)
    .map(({ name }) => name);
}

const noArgument = ['signOut'];

/** Mutations that are not `doThing(input: DoThingInput!): DoThingPayload!`. */
function misnamed(schema: GraphQLSchema): readonly string[] {
  const shape = ({ name, args, type }: GraphQLField<unknown, unknown>) =>
    `${name}(${args.map((argument) => `${argument.name}: ${String(argument.type)}`).join(', ')}): ${String(type)}`;
  const expected = (name: string) => {
    const thing = name.charAt(0).toUpperCase() + name.slice(1);
    return `${name}(${noArgument.includes(name) ? '' : `input: ${thing}Input!`}): ${thing}Payload!`;
  };
  return mutationsOf(schema)
    .filter((mutation) => shape(mutation) !== expected(mutation.name))
    .map(shape);
}

/** Payload fields that break the rule: `errors: [UserError!]!`, and all others nullable. */
function illShaped(schema: GraphQLSchema): readonly string[] {
  return typesOf(schema)
    .filter(isObjectType)
    .filter(({ name }) => name.endsWith('Payload'))
    .flatMap((type) => {
      const { errors, ...others } = type.getFields();
      const wrongErrors = String(errors?.type) === '[UserError!]!' ? [] : [`${type.name}.errors`];
      const nonNullable = Object.values(others).filter((field) => isNonNullType(field.type));
      return [...wrongErrors, ...nonNullable.map((field) => `${type.name}.${field.name}`)];
    });
}

const rules = {
  'everything has a description': undescribed,
  'no input type is recursive: a variable of such a type would exhaust the query compiler': recursiveInputs,
  'a mutation doThing takes input: DoThingInput! and returns DoThingPayload!': misnamed,
  'a payload has errors: [UserError!]!, and all its other fields are nullable': illShaped,
};

describe('the schema', () => {
  const schema = buildSchema(sdl.join('\n'));
  const names = (types: readonly { readonly name: string }[]) => types.map(({ name }) => name).toSorted();

  test.each(Object.entries(rules))('%s', (_, findBreaches) => {
    expect(mutationsOf(schema).length).toBeGreaterThan(0);
    expect(findBreaches(schema)).toEqual([]);
  });

  test('is served as written: resolvers change nothing in it', () => {
    const print = (one: GraphQLSchema) => printSchema(lexicographicSortSchema(one));
    expect(print(createSchema())).toBe(print(schema));
  });

  test('has a resolver for every field of a root type', () => {
    const served = createSchema();
    const roots = [served.getQueryType(), served.getMutationType(), served.getSubscriptionType()];
    const fields = roots.flatMap((root) => Object.values(root!.getFields()));
    const without = fields.filter(({ resolve, subscribe }) => !resolve && !subscribe);
    expect(names(without)).toEqual([]);
    expect(fields).toContain(served.getQueryType()!.getFields()['notes']);
  });

  test('has the documented filters', () => {
    const filters = inputsOf(schema).filter(({ name }) => name.endsWith('Filter'));
    expect(names(filters)).toEqual([
      'AppointmentFilter',
      'NoteFilter',
      'PaymentFilter',
      'PaymentUpdateFilter',
      'ShipmentFilter',
      'ShipmentUpdateFilter',
      'WebhookDeliveryFilter',
    ]);
  });

  test('has the documented enums', () => {
    expect(names(typesOf(schema).filter(isEnumType))).toEqual([
      'AppointmentStatus',
      'BookingConfirmation',
      'Grant',
      'ParticipantStatus',
      'SharePermission',
      'ShipmentStage',
      'UserErrorCode',
      'WebhookFamily',
      'WebhookOutcome',
    ]);
  });
});

describe('a schema that breaks a rule is reported by', () => {
  const sound = `
    "A" type Query { "B" a("C" b: Int): Colour }
    "D" enum Colour { "E" RED }
    "F" type UserError { "G" message: String! }
    "H" type Mutation { "I" doThing("J" input: DoThingInput!): DoThingPayload! "K" signOut: SignOutPayload! }
    "L" input DoThingInput { "M" name: String }
    "N" type DoThingPayload { "O" thing: String "P" errors: [UserError!]! }
    "Q" type SignOutPayload { "R" errors: [UserError!]! }
  `;
  const faults = [
    {
      findBreaches: undescribed,
      extension: `extend type Query { c(d: Int): Int }
       extend enum Colour { BLUE }
       extend input DoThingInput { f: Int }
       directive @g on FIELD
       interface H { "" i: Int }
       scalar J`,
      reported: ['H', 'J', '@g', 'Query.c', 'Query.c(d)', 'H.i', 'DoThingInput.f', 'Colour.BLUE'],
    },
    {
      findBreaches: recursiveInputs,
      extension: `input Self { self: Self }
       input Odd { even: [Even!]! }
       input Even { odd: Odd }
       input Outside { self: Self }`,
      reported: ['Self', 'Odd', 'Even'],
    },
    {
      findBreaches: misnamed,
      extension: `extend type Mutation {
         makeTea(input: MakeInput!): MakeTeaPayload!
         makeBed(input: MakeBedInput): MakeBedPayload!
         makeHaste: MakeHastePayload!
         makeWay(input: MakeWayInput!, more: Int): MakeWayPayload!
         makeDo(input: MakeDoInput!): MakeDoPayload
       }
       input MakeInput { a: Int } input MakeBedInput { a: Int } input MakeWayInput { a: Int }
       input MakeDoInput { a: Int }
       type MakeTeaPayload { a: Int } type MakeBedPayload { a: Int } type MakeHastePayload { a: Int }
       type MakeWayPayload { a: Int } type MakeDoPayload { a: Int }`,
      reported: [
        'makeTea(input: MakeInput!): MakeTeaPayload!',
        'makeBed(input: MakeBedInput): MakeBedPayload!',
        'makeHaste(): MakeHastePayload!',
        'makeWay(input: MakeWayInput!, more: Int): MakeWayPayload!',
        'makeDo(input: MakeDoInput!): MakeDoPayload',
      ],
    },
    {
      findBreaches: illShaped,
      extension: `type APayload { errors: [UserError!] }
       type BPayload { b: Int! errors: [UserError!]! }
       type CPayload { c: Int }`,
      reported: ['APayload.errors', 'BPayload.b', 'CPayload.errors'],
    },
  ] as const;

  test.each(faults)('$findBreaches.name', ({ findBreaches, extension, reported }) => {
    const schema = buildSchema(sound);
    expect(findBreaches(schema)).toEqual([]);
    expect(findBreaches(extendSchema(schema, parse(extension)))).toEqual(reported);
  });
});
