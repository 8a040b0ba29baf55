import { GraphQLError, Lexer, TokenKind, type Source } from 'graphql';

/** A fragment, or all operations together. */
interface Part {
  /** Of brackets, without what is spread. */
  depth: number;
  /** By the fragments' names, where each is spread deepest. */
  readonly spreads: Map<string, Spread>;
}

interface Spread {
  /** How many brackets are open there. */
  readonly depth: number;
  readonly position: number;
}

type Parts = ReadonlyMap<string, Part>;

/** What a document's tokens tell of how it is nested. */
export interface Nesting {
  /** How deep, its fragments expanded; Infinity where more fragments than there may be levels lead into a cycle. */
  readonly depth: number;
  /** A fragment that spreads itself, by way of few others. */
  readonly cycle?: GraphQLError;
}

/** By the kind of a token. */
const levels: Readonly<Record<string, number>> = { '(': 1, '[': 1, '{': 1, ')': -1, ']': -1, '}': -1 };
const operations = '';

/**
 * Reads as far as the parser would, which stops at what is no token or at one too many, and says so itself; and no
 * deeper than `mostLevels`. Takes as long as the text is.
 */
export function nestingOf(source: Source, mostLevels: number, maxTokens: number): Nesting {
  const parts = partsOf(source, mostLevels, maxTokens);
  if (typeof parts === 'number') return { depth: parts };
  const depths = writtenOut(parts);
  const left = parts.size - depths.size;
  if (left > mostLevels) return { depth: Infinity };
  const depth = Math.max(...depths.values(), 0);
  return left > 0 && depth <= mostLevels ? { depth, cycle: cycleOf(source, parts, depths) } : { depth };
}

/** The parts of the document; or how deep it is by itself, if that is too deep or nothing else is known. */
function partsOf(source: Source, mostLevels: number, maxTokens: number): Parts | number {
  const lexer = new Lexer(source);
  const parts = new Map<string, Part>();
  const partOf = (name: string): Part =>
    parts.get(name) ?? set(parts, name, { depth: 0, spreads: new Map() });
  let part = partOf(operations);
  let depth = 0;
  /** The two tokens before, which may say what a name stands for, and where the last of them is. */
  let [first, before] = ['', ''];
  let position = 0;
  try {
    // The end of the text does not count.
    for (let tokens = 0; tokens <= maxTokens; tokens++) {
      const { kind, value, start } = lexer.advance();
      if (kind === TokenKind.EOF) return parts;
      depth += levels[kind] ?? 0;
      if (depth > mostLevels) return depth;
      part.depth = Math.max(part.depth, depth);
      if (kind === TokenKind.BRACE_R && depth === 0) part = partOf(operations);
      const isName = kind === TokenKind.NAME;
      // Only here is `fragment` sure to be the keyword: types and fields may have that name.
      if (depth === 0 && isName && value === 'on' && first === 'fragment') part = partOf(before);
      if (isName && before === TokenKind.SPREAD && value !== 'on') {
        const known = part.spreads.get(value);
        if (!known || known.depth < depth) part.spreads.set(value, { depth, position });
      }
      [first, before] = [before, isName ? value : kind];
      position = start;
    }
  } catch {
    return 0;
  }
  return 0;
}

/** How deep each part is, what it spreads expanded; those that lead into a cycle are not among them. */
function writtenOut(parts: Parts): ReadonlyMap<string, number> {
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

/** One of the cycles, in the words of GraphQL. */
function cycleOf(source: Source, parts: Parts, depths: ReadonlyMap<string, number>): GraphQLError {
  const next = (name: string) =>
    [...parts.get(name)!.spreads.entries()].find(([spread]) => parts.has(spread) && !depths.has(spread))!;
  const way = new Map<string, number>();
  let [name] = [...parts.keys()].filter((part) => !depths.has(part)) as [string];
  while (!way.has(name)) {
    const [spread, { position }] = next(name);
    way.set(name, position);
    name = spread;
  }
  const names = [...way.keys()];
  const cycle = names.slice(names.indexOf(name));
  const others = cycle.slice(1).map((other) => `"${other}"`);
  const via = others.length > 0 ? ` via ${others.join(', ')}` : '';
  return new GraphQLError(`Cannot spread fragment "${name}" within itself${via}.`, {
    source,
    positions: cycle.map((each) => way.get(each)!),
    extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
  });
}

function set<T>(map: Map<string, T>, name: string, value: T): T {
  map.set(name, value);
  return value;
}
