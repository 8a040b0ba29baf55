import { print, type DocumentNode } from 'graphql';

/** Carries the types of an operation's data and variables; nothing of it exists at run time. */
export interface DocumentTypes<Data, Variables> {
  readonly __apiType?: (variables: Variables) => Data;
}

/** A parsed operation with the types of its data and variables, as GraphQL Code Generator makes it. */
export interface TypedDocumentNode<Data = unknown, Variables = Record<string, unknown>>
  extends DocumentNode, DocumentTypes<Data, Variables> {}

/** An operation as a text with its types: Code Generator's `documentMode: 'string'`. */
export interface TypedDocumentText<Data, Variables> extends DocumentTypes<Data, Variables> {
  toString(): string;
}

/** An operation: a typed document (`DocumentNode` or text). */
export type Document<Data, Variables> =
  TypedDocumentNode<Data, Variables> | TypedDocumentText<Data, Variables>;

/** The variables, which may be left out if none is required, and the options of a call. */
export type Arguments<Variables, Options> =
  Record<string, never> extends Variables
    ? [variables?: Variables, options?: Options]
    : [variables: Variables, options?: Options];

/** An operation as it is sent. */
export interface Payload {
  readonly query: string;
  variables: Record<string, unknown>;
}

const texts = new WeakMap<object, string>();

/** An operation, whatever its types. */
export type AnyDocument = string | DocumentNode | TypedDocumentText<unknown, never>;

/** The text of an operation; printed once. */
export function textOf(document: AnyDocument): string {
  if (typeof document === 'string') return document;
  if (!('kind' in document)) return document.toString();
  const known = texts.get(document);
  if (known !== undefined) return known;
  const text = print(document);
  texts.set(document, text);
  return text;
}

/** Whether an operation is a subscription that declares `$after`, so that it can be resumed: a query pages by that. */
export function takesAfter(text: string): boolean {
  return isSubscription(text) && /\$after\s*:/.test(text);
}

/** Whether an operation is a subscription. */
export function isSubscription(text: string): boolean {
  return /(^|[\n}])\s*subscription\b/.test(text);
}

/** The cursor of an update, under whatever alias the update was selected. */
export function cursorOf(data: unknown): string | undefined {
  const [update] = Object.values(data ?? {}) as ({ readonly cursor?: unknown } | null)[];
  return typeof update?.cursor === 'string' ? update.cursor : undefined;
}
