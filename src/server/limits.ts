import { GraphQLError, Lexer, Source, TokenKind } from 'graphql';

/** A document has a bounded number of tokens. */
export const parseOptions = { maxTokens: 5_000 } as const;
const greatestDepth = 200;
const mostLines = 10_000;
/** By the kind of a token. */
const levels: Readonly<Record<string, number>> = { '(': 1, '[': 1, '{': 1, ')': -1, ']': -1, '}': -1 };

/** Refuses an operation that is, or asks for, more than it may. */
export function tooComplex(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'QUERY_TOO_COMPLEX', http: { status: 400 } } });
}

/**
 * Why a text is not even to be parsed: it is nested deeper than a parser could go down, or has so many lines that
 * GraphQL, which counts them for each fault that it finds, would take seconds.
 */
export function refuseText(query: string): GraphQLError | undefined {
  if (hasMore(query, /\r\n|[\n\r]/g, mostLines - 1))
    return tooComplex(`The document has more than ${mostLines} lines; long texts can be given as variables.`);
  // Most texts have too few brackets for it to matter where they stand.
  if (hasMore(query, /[[({]/g, greatestDepth) && isDeep(query))
    return tooComplex(`The operation is nested more than ${greatestDepth} levels deep.`);
  return undefined;
}

function hasMore(text: string, pattern: RegExp, most: number): boolean {
  let count = 0;
  for (const _ of text.matchAll(pattern)) if (++count > most) return true;
  return false;
}

/** Looks as far as the parser would go, which stops at what is no token and at one too many, and says so itself. */
function isDeep(query: string): boolean {
  const lexer = new Lexer(new Source(query));
  let depth = 0;
  try {
    for (let tokens = 0; tokens < parseOptions.maxTokens; tokens++) {
      const { kind } = lexer.advance();
      if (kind === TokenKind.EOF) return false;
      depth += levels[kind] ?? 0;
      if (depth > greatestDepth) return true;
    }
  } catch {
    return false;
  }
  return false;
}
