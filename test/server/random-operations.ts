import {
  GraphQLNonNull,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  getNamedType,
  getNullableType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLObjectType,
} from 'graphql';
import { createSchema } from '../support/schema.js';

const schema = createSchema();

/** A source of integers from 0 to below `bound`, the same for the same seed (mulberry32). */
export function createRandom(seed: number) {
  let state = seed;
  return (bound: number): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

type Random = ReturnType<typeof createRandom>;

/** An operation as a client sends it. */
export interface Operation {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** An answer with its errors sorted if there are several, since their order is a matter of timing. */
export function inOrder(text: string): string {
  const { errors = [], ...rest } = JSON.parse(text) as { readonly errors?: readonly unknown[] };
  if (errors.length < 2) return text;
  return JSON.stringify({ errors: errors.map((error) => JSON.stringify(error)).toSorted(), ...rest });
}

/**
 * A random query or, with a cursor to begin after, a subscription to updates that can be resumed. It is valid by the
 * types of the schema; the values of its arguments may still be refused.
 */
export function createOperation(random: Random, ids: readonly string[], after?: string): Operation {
  const variables: Record<string, unknown> = { yes: true, no: false };
  const maybe = [true, false, null, undefined][random(4)];
  if (maybe !== undefined) variables['maybe'] = maybe;
  const declared: string[] = [];
  const fragments: { readonly name: string; readonly on: string; readonly text: string }[] = [];
  let used = 0;
  let calls = 0;

  const pick = <T>(values: readonly T[]): T => values[random(values.length)]!;

  function value(type: GraphQLInputType): unknown {
    if (isNonNullType(type)) return value(type.ofType);
    if (isListType(type)) {
      const items = Array.from({ length: random(4) }, () => value(type.ofType));
      return items.length === 1 && random(2) === 0 ? items[0] : items; // a single value stands for a list of one
    }
    if (isEnumType(type)) return pick(type.getValues()).name;
    if (isInputObjectType(type))
      return Object.fromEntries(
        Object.values(type.getFields())
          .filter(() => random(2) === 0)
          .map((member) => [member.name, value(member.type)]),
      );
    if (type.name === 'Int') return pick([0, 1, 2, 3, 5, 101, -1]);
    if (type.name === 'Boolean') return random(2) === 0;
    if (type.name === 'ID') return pick([...ids, 'none']);
    if (type.name === 'DateTime') return pick(['2026-01-01T00:00:00Z', '2027-01-01T00:00:00.5+01:00']);
    return pick(['work', 'Home', '', 'shp_1', 'none']);
  }

  /** A literal, which may contain variables, or a variable in its place. */
  function literal(type: GraphQLInputType, varies = true): string {
    if (varies && random(4) === 0) return variable(type);
    if (!isNonNullType(type) && random(8) === 0) return 'null';
    const of = getNullableType(type);
    if (isListType(of)) {
      const items = Array.from({ length: random(4) }, () => literal(of.ofType, varies));
      const [only] = items.length === 1 ? items : [];
      return only && !only.startsWith('$') && random(2) === 0 ? only : `[${items.join(', ')}]`;
    }
    if (!isInputObjectType(of)) return isEnumType(of) ? String(value(of)) : JSON.stringify(value(of));
    const members = Object.values(of.getFields()).filter(() => random(2) === 0);
    return `{ ${members.map((member) => `${member.name}: ${literal(member.type, varies)}`).join(', ')} }`;
  }

  /** A variable for this type. With a default it may be nullable even if the type is not. */
  function variable(type: GraphQLInputType): string {
    const name = `v${(used += 1)}`;
    const of = getNullableType(type);
    const isNullable = random(2) === 0;
    const hasDefault = (isNullable && isNonNullType(type)) || random(3) === 0;
    const defaultValue = hasDefault ? ` = ${literal(isNullable ? type : new GraphQLNonNull(of), false)}` : '';
    declared.push(`$${name}: ${String(of)}${isNullable ? '' : '!'}${defaultValue}`);
    const given = random(6);
    if (given > 0 || !(isNullable || hasDefault))
      variables[name] = given === 1 && isNullable ? null : value(of);
    return `$${name}`;
  }

  const argument = ({ name, type }: GraphQLArgument) =>
    `${name}: ${random(3) > 0 ? variable(type) : literal(type)}`;

  const hasConditions = random(3) === 0;
  /** Every field gets a response name of its own: only then is a query with conditions compiled. */
  const hasUniqueNames = hasConditions && random(3) > 0;
  let named = 0;
  const ownName = () => (hasUniqueNames ? `k${(named += 1)}: ` : '');
  const typeName = () => `${random(100) === 0 ? '__proto__: ' : ownName()}__typename`;
  function directive(): string {
    if (!hasConditions) return '';
    if (random(7) > 2) return '';
    const condition = pick([
      'include(if: $yes)',
      'skip(if: $no)',
      'include(if: $no)',
      'skip(if: true)',
      'skip(if: $maybe)',
    ]);
    return ` @${pick(['', '', ' ', ',', '\ufeff', '# none\n'])}${condition}`;
  }

  function field({ name, type, args }: GraphQLField<unknown, unknown>, depth: number): string {
    const given = args.filter((each) => isNonNullType(each.type) || random(3) === 0).map(argument);
    // Each field with arguments gets an alias of its own: fields with the same name must have the same arguments.
    const alias =
      ownName() || (given.length > 0 ? `u${(calls += 1)}: ` : random(4) === 0 ? `again_${name}: ` : '');
    const call = `${alias}${name}${given.length > 0 ? `(${given.join(', ')})` : ''}${directive()}`;
    const of = getNamedType(type);
    if (isLeafType(of)) return call;
    if (!isAbstractType(of)) return `${call} ${selection(of as GraphQLObjectType, depth - 1)}`;
    const some = schema.getPossibleTypes(of).filter(() => random(3) === 0);
    const spreads = some.map((each) => `... on ${each.name}${directive()} ${selection(each, 0)}`);
    return `${call} { ${typeName()} ${ownName()}id ${spreads.join(' ')} }`;
  }

  function selection(type: GraphQLObjectType, depth: number): string {
    const all = Object.values(type.getFields());
    const fit = all.filter((candidate) => depth > 0 || isLeafType(getNamedType(candidate.type)));
    const chosen = fit.filter(() => random(3) > 0).slice(0, 6);
    const parts = [typeName(), ...chosen.map((each) => field(each, depth))];
    const known = fragments.filter(({ on }) => on === type.name);
    if (known.length > 0 && random(2) === 0) parts.push(`...${pick(known).name}${directive()}`);
    else if (random(4) === 0) {
      const name = `F${fragments.length}`;
      const some = hasUniqueNames ? parts.splice(-2) : parts.slice(0, 2);
      fragments.push({ name, on: type.name, text: `fragment ${name} on ${type.name} { ${some.join(' ')} }` });
      parts.push(`...${name}${directive()}`);
    }
    if (random(5) === 0) parts.push(`... on ${type.name}${directive()} { ${typeName()} }`);
    return `{ ${parts.join(' ')} }`;
  }

  /** The root field of a subscription: neither it nor a fragment around it may have a condition. */
  function update(cursor: string): string {
    const root = schema.getSubscriptionType()!;
    const { name, type, args } = root.getFields()[pick(['shipmentUpdates', 'paymentUpdates'])]!;
    variables['after'] = cursor;
    declared.push('$after: String!');
    const filter = args.filter((each) => each.name === 'filter' && random(3) === 0).map(argument);
    const call = `${ownName()}${name}(${['after: $after', ...filter].join(', ')})`;
    const whole = `${call} ${selection(getNamedType(type) as GraphQLObjectType, 4)}`;
    return random(3) === 0 ? `... on ${root.name} { ${whole} }` : whole;
  }

  const roots = Object.values(schema.getQueryType()!.getFields());
  const chosen =
    after === undefined
      ? Array.from({ length: 1 + random(3) }, () => field(pick(roots), 4))
      : [update(after)];
  const body = `{ ${chosen.join(' ')} } ${fragments.map(({ text }) => text).join(' ')}`;
  for (const name of ['yes', 'no']) if (body.includes(`$${name})`)) declared.push(`$${name}: Boolean!`);
  if (body.includes('$maybe)')) declared.push(`$maybe: Boolean = ${random(2) === 0}`);
  const type = after === undefined ? 'query' : 'subscription';
  const head = declared.length > 0 ? `${type} Q(${declared.join(', ')})` : `${type} Q`;
  return { query: `${head} ${body}`, variables };
}
