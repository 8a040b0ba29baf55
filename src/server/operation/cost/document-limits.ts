import {
  GraphQLError,
  Source,
  TokenKind,
  type DocumentNode,
  type ExecutionResult,
  type OperationTypeNode,
} from 'graphql';
import type { Context } from '../../../api/context.js';
import { OperationTooComplex } from '../../../graphql/errors.js';
import { hasMoreValues, isDeeper, isLongerAsJson } from '../../../lib/json-size.js';
import { tokensOf } from './document-tokens.js';
import { nestingOf } from './document-depth.js';

/** Values of variables, before coercion. */
export type Variables = Readonly<Record<string, unknown>>;

/** How long a query or mutation may take; a subscription has no deadline. */
export const operationMs = 30_000;
/** Bounds the tokens of a document. */
export const parseOptions = { maxTokens: 5_000 } as const;
/** How deep an operation, with its fragments expanded, and its variables may be nested. */
export const maxDepth = 200;
/** How deep a request may be nested: its variables, inside of the object that has them. */
export const maxRequestDepth = maxDepth + 2;
/** How many lines a document may have. */
export const maxLines = 10_000;
/** How many backslashes a document may have: GraphQL reads a string of escapes some thirty times as slowly as another. */
export const maxBackslashes = 10_000;
/** In characters. GraphQL repeats names in its errors, and there may be a hundred of those. */
export const maxName = 255;
/**
 * How many values a request may have, by its commas and opening brackets, and how many the lists in an operation's
 * variables: twice those of a note with 20,000 tags.
 */
export const maxRequestValues = 50_000;
/** How many fields the values of an operation's variables may have. */
export const maxFields = 10_000;
/** In an answer. */
export const maxCharacters = 32_000_000;
/** In an update, which is made in one turn of the event loop: that of an event with a body of a mebibyte, three times over. */
export const maxUpdateCharacters = 4_000_000;
/** How many fields an operation may ask for, and how many it may have with its fragments expanded. */
export const maxCost = 50_000;
/** The message of `QUERY_TOO_COMPLEX` for an answer of more than `maxCost` fields. */
export const tooManyFields = `The response could have more than ${maxCost} fields: request smaller pages, or fewer fields of each item.`;
/** The message of `QUERY_TOO_COMPLEX` for fragments that expand to more than `maxCost` fields. */
export const tooManyExpandedFields = `The operation has more than ${maxCost} fields once its fragments are expanded: spread them less often.`;
/** How many characters an operation may give to its fields: each looks at what it is given, whether or not others have. */
export const maxGiven = 2_000_000;
/** The message of `QUERY_TOO_COMPLEX` for more than `maxGiven` characters. */
export const tooMuchGiven = `The operation gives more than ${maxGiven} characters to its fields: use long values less often.`;
/** Of a mutation, with its fragments expanded: each may be a call to a service. */
export const maxMutations = 20;
/** The message of `QUERY_TOO_COMPLEX` for more than `maxMutations` root fields. */
export const tooManyMutations = `A mutation has at most ${maxMutations} root fields: send several.`;
/** Added to the error of a mutation whose call may have reached the service. */
export const maybeApplied = 'The mutation may still have taken effect.';
const tooLong = (most: number) => `The response has more than ${most} characters: request less.`;

/** Measured with Node.js 24: what a token of a parsed document takes in the heap. */
const bytesPerToken = 300;

/** About how many bytes of heap a parsed document takes, with its text. */
export function heapOfDocument({ loc, tokenCount = 0 }: DocumentNode): number {
  return (loc?.source.body.length ?? 0) * 2 + tokenCount * bytesPerToken;
}

/** The error for an operation that is, or asks for, more than it may. */
export function tooComplex(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'QUERY_TOO_COMPLEX', http: { status: 400 } } });
}

/**
 * Why a request over HTTP is refused before it is parsed: a megabyte of empty objects takes half a second to make, to
 * look at and to let go of, and one of lists in lists a tenth to parse.
 */
export function refuseRequest(json: Uint8Array): GraphQLError | undefined {
  if (hasMoreValues(json, maxRequestValues))
    return tooComplex(`The request has more than ${maxRequestValues} values.`);
  if (isDeeper(json, maxRequestDepth))
    return tooComplex(`The request is nested more than ${maxRequestDepth} levels deep.`);
  return undefined;
}

/**
 * Why a document is refused before it is parsed: it is nested too deep for the parser or, with its fragments expanded,
 * for GraphQL's rules; or it has so many lines that GraphQL, which counts them for an error of syntax, would take long, or
 * so many escapes; or a name is so long that the errors in which GraphQL repeats it would be.
 */
export function refuseText(query: string): GraphQLError | undefined {
  const excess = excessOf(query);
  if (excess) return tooComplex(`The document has more than ${excess}: pass long texts as variables.`);
  if (longWord.test(query) && hasLongName(query))
    return tooComplex(`The document has a name of more than ${maxName} characters.`);
  // Without fragments, and with few brackets, a document cannot be nested too deep; most are like that.
  if (!hasMore(query, /[[({]/g, maxDepth) && !/\bfragment\b/.test(query)) return undefined;
  const { depth, cycle } = nestingOf(new Source(query), maxDepth, parseOptions.maxTokens);
  return depth > maxDepth ? tooComplex(`The operation is nested more than ${maxDepth} levels deep.`) : cycle;
}

/**
 * Why variables are refused before they are checked against their types: they are nested too deep, have more values than
 * an operation needs, or so many fields that GraphQL, which prints a whole object for each error in it, would take seconds.
 */
export function refuseVariables(variables: Variables): GraphQLError | undefined {
  let fields = 0;
  let listed = 0;
  let values: readonly object[] = [variables];
  for (let depth = 0; values.length > 0; depth++) {
    if (depth > maxDepth) return tooComplex(`The variables are nested more than ${maxDepth} levels deep.`);
    const below: object[] = [];
    for (const value of values) {
      const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
      if (Array.isArray(value)) listed += members.length;
      else fields += members.length;
      if (fields > maxFields) return tooComplex(`The variables have more than ${maxFields} fields.`);
      if (listed > maxRequestValues)
        return tooComplex(`The variables have more than ${maxRequestValues} values in lists.`);
      for (const member of members) if (typeof member === 'object' && member !== null) below.push(member);
    }
    values = below;
  }
  return undefined;
}

/**
 * Why an answer is withheld as a whole: it is too long, or a field found that the operation asks for too much. Which
 * field finds that is a matter of timing, so the rest is not given either. A mutation reports such fields one by one,
 * since what it was to do may be done.
 */
export function refuseAnswer(
  { data, errors = [] }: ExecutionResult,
  { tally }: Pick<Context, 'tally'>,
  operation: `${OperationTypeNode}` = 'query',
): GraphQLError | undefined {
  if (operation !== 'mutation') {
    if (tally.exceeded) return tooComplex(tooManyFields);
    const cause = errors.find(({ originalError }) => originalError instanceof OperationTooComplex);
    if (cause) return tooComplex(cause.message);
  }
  const most = operation === 'subscription' ? maxUpdateCharacters : maxCharacters;
  if (!isLongerAsJson({ data: data ?? null, errors }, most)) return undefined;
  return tooComplex(operation === 'mutation' ? `${tooLong(most)} ${maybeApplied}` : tooLong(most));
}

function excessOf(query: string): string | undefined {
  if (hasMore(query, /\r\n|[\n\r]/g, maxLines - 1)) return `${maxLines} lines`;
  if (hasMore(query, /\\/g, maxBackslashes)) return `${maxBackslashes} backslashes`;
  return undefined;
}

/** Also found within strings and comments, where it is no name. Sought from the beginning of each word only. */
const longWord = new RegExp(`\\b\\w{${maxName + 1}}`);

function hasLongName(query: string): boolean {
  for (const { kind, value } of tokensOf(new Source(query), parseOptions.maxTokens))
    if (kind === TokenKind.NAME && value.length > maxName) return true;
  return false;
}

function hasMore(text: string, pattern: RegExp, most: number): boolean {
  let count = 0;
  for (const _ of text.matchAll(pattern)) if (++count > most) return true;
  return false;
}
