import { GraphQLError, TokenKind, type Source } from 'graphql';
import { tokensOf } from './document-tokens.js';

/** A fragment, or all operations together. */
interface Part {
  /** Of its brackets, without those of the fragments that it spreads. */
  depth: number;
  /** By the name of a fragment: where it is spread deepest. */
  readonly spreads: Map<string, Spread>;
}

interface Spread {
  /** How many brackets are open there. */
  readonly depth: number;
  readonly position: number;
}

type Parts = ReadonlyMap<string, Part>;

/** How deep a document is nested, by its tokens. */
export interface Nesting {
  /** With its fragments expanded; Infinity if more fragments lead into a cycle than levels are allowed. */
  readonly depth: number;
  /** The error of a fragment that spreads itself, if need be via a few others. */
  readonly cycle?: GraphQLError;
}

/** By the kind of a token: how it changes the depth. */
const levels: Readonly<Record<string, number>> = { '(': 1, '[': 1, '{': 1, ')': -1, ']': -1, '}': -1 };
/** The key of the part that is all operations. */
const operations = '';

/** Reads as far as the parser would, and no deeper than `maxLevels`. Takes time in proportion to the text. */
export function nestingOf(source: Source, maxLevels: number, maxTokens: number): Nesting {
  const parts = partsOf(source, maxLevels, maxTokens);
  if (typeof parts === 'number') return { depth: parts };
  const depths = expandedDepths(parts);
  const left = parts.size - depths.size;
  if (left > maxLevels) return { depth: Infinity };
  const depth = Math.max(...depths.values(), 0);
  return left > 0 && depth <= maxLevels ? { depth, cycle: cycleOf(source, parts, depths) } : { depth };
}

/** The parts of the document; or a depth alone, which is too great, or 0 where the parser will report an error. */
function partsOf(source: Source, maxLevels: number, maxTokens: number): Parts | number {
  const parts = new Map<string, Part>();
  const partOf = (name: string): Part =>
    parts.get(name) ?? set(parts, name, { depth: 0, spreads: new Map() });
  let part = partOf(operations);
  let depth = 0;
  /** The two previous tokens, which may tell what a name stands for, and the position of the last one. */
  let [beforePrevious, previous] = ['', ''];
  let position = 0;
  for (const { kind, value, start } of tokensOf(source, maxTokens)) {
    if (kind === TokenKind.EOF) return parts;
    depth += levels[kind] ?? 0;
    if (depth > maxLevels) return depth;
    part.depth = Math.max(part.depth, depth);
    if (kind === TokenKind.BRACE_R && depth === 0) part = partOf(operations);
    const isName = kind === TokenKind.NAME;
    // Only here is `fragment` sure to be the keyword: types and fields may have that name.
    if (depth === 0 && isName && value === 'on' && beforePrevious === 'fragment') part = partOf(previous);
    if (isName && previous === TokenKind.SPREAD && value !== 'on') {
      const known = part.spreads.get(value);
      if (!known || known.depth < depth) part.spreads.set(value, { depth, position });
    }
    [beforePrevious, previous] = [previous, isName ? value : kind];
    position = start;
  }
  return 0;
}

/** How deep each part is with its fragments expanded; parts that lead into a cycle are left out. */
function expandedDepths(parts: Parts): ReadonlyMap<string, number> {
  const spreaders = new Map<string, string[]>();
  const waiting = new Map<string, number>();
  const ready: string[] = [];
  for (const [name, { spreads }] of parts) {
    const known = [...spreads.keys()].filter((spread) => parts.has(spread));
    for (const spread of known) (spreaders.get(spread) ?? set(spreaders, spread, [])).push(name);
    if (known.length === 0) ready.push(name);
    else waiting.set(name, known.length);
  }
  const depths = new Map<string, number>();
  // Grows during the loop.
  for (const name of ready) {
    const { depth, spreads } = parts.get(name)!;
    const below = [...spreads].map(([spread, at]) => at.depth + (depths.get(spread) ?? 0));
    depths.set(name, Math.max(depth, ...below));
    for (const spreader of spreaders.get(name) ?? []) {
      const left = waiting.get(spreader)! - 1;
      waiting.set(spreader, left);
      if (left === 0) ready.push(spreader);
    }
  }
  return depths;
}

/** GraphQL's own error for one of the cycles. */
function cycleOf(source: Source, parts: Parts, depths: ReadonlyMap<string, number>): GraphQLError {
  const next = (name: string) =>
    [...parts.get(name)!.spreads.entries()].find(([spread]) => parts.has(spread) && !depths.has(spread))!;
  const path = new Map<string, number>();
  let [name] = [...parts.keys()].filter((part) => !depths.has(part)) as [string];
  while (!path.has(name)) {
    const [spread, { position }] = next(name);
    path.set(name, position);
    name = spread;
  }
  const names = [...path.keys()];
  const cycle = names.slice(names.indexOf(name));
  const others = cycle.slice(1).map((other) => `"${other}"`);
  const via = others.length > 0 ? ` via ${others.join(', ')}` : '';
  return new GraphQLError(`Cannot spread fragment "${name}" within itself${via}.`, {
    source,
    positions: cycle.map((each) => path.get(each)!),
    extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
  });
}

function set<T>(map: Map<string, T>, name: string, value: T): T {
  map.set(name, value);
  return value;
}
