import {
  Kind,
  print,
  valueFromASTUntyped,
  visit,
  type DocumentNode,
  type FieldNode,
  type SelectionSetNode,
} from 'graphql';

export type Arguments = Readonly<Record<string, unknown>>;

/** The fields that a document selects of the root types, those in fragments included. */
export function rootFields({ definitions }: DocumentNode): readonly FieldNode[] {
  const fieldsOf = ({ selections }: SelectionSetNode): readonly FieldNode[] =>
    selections.flatMap((selection) => {
      if (selection.kind === Kind.FIELD) return [selection];
      if (selection.kind === Kind.INLINE_FRAGMENT) return fieldsOf(selection.selectionSet);
      const named = definitions.find(
        (one) => one.kind === Kind.FRAGMENT_DEFINITION && one.name.value === selection.name.value,
      );
      return named?.kind === Kind.FRAGMENT_DEFINITION ? fieldsOf(named.selectionSet) : [];
    });
  return definitions.flatMap((one) =>
    one.kind === Kind.OPERATION_DEFINITION ? fieldsOf(one.selectionSet) : [],
  );
}

/** The name that a field has in the answer. */
export function responseName({ alias, name }: FieldNode): string {
  return (alias ?? name).value;
}

/** The values of a field's arguments; a variable that is not given has its default. */
export function argumentsOf(document: DocumentNode, field: FieldNode, variables: object): Arguments {
  const given: Arguments = { ...defaultsOf(document), ...withoutUndefined(variables) };
  const named = (field.arguments ?? []).map(({ name, value }) => [
    name.value,
    valueFromASTUntyped(value, given),
  ]);
  return Object.fromEntries(named) as Arguments;
}

function defaultsOf({ definitions }: DocumentNode): object {
  const defined = definitions.flatMap((one) =>
    one.kind === Kind.OPERATION_DEFINITION ? (one.variableDefinitions ?? []) : [],
  );
  return Object.fromEntries(
    defined.flatMap(({ variable, defaultValue }) =>
      defaultValue ? [[variable.name.value, valueFromASTUntyped(defaultValue)]] : [],
    ),
  );
}

/** What is undefined is not sent. */
function withoutUndefined(variables: object): object {
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== undefined));
}

/**
 * What keeps the lists of a field apart: their filter, and whether they begin at the end. Lists that have it in common are
 * one, whatever the length of their pages.
 */
export function listKey({ filter, last }: { readonly filter?: unknown; readonly last?: unknown }): string {
  const given = Object.entries(filter ?? {}).filter(([, value]) => value != null);
  const sorted = given.toSorted(([one], [other]) => (one < other ? -1 : 1));
  return (last == null ? '' : 'last') + JSON.stringify(sorted);
}

const selections = new WeakMap<FieldNode, string>();

/** What keeps live lists apart: field, filter and end as in `listKey`, and what is selected. It begins with the field's name. */
export function keyOf(field: FieldNode, args: Arguments): string {
  return `${field.name.value}:${listKey(args)}${selectionOf(field)}`;
}

/**
 * What is selected of a list, as a text, whether or not that is what is sent: caches add `__typename`, and keep directives and
 * `@client` fields for themselves.
 */
function selectionOf(field: FieldNode): string {
  const { selectionSet } = field;
  const known = selections.get(field);
  if (known !== undefined || !selectionSet) return known ?? '';
  const isOfCache = ({ name, directives = [] }: FieldNode) =>
    name.value === '__typename' || directives.some((directive) => directive.name.value === 'client');
  const sent = visit(selectionSet, {
    Directive: () => null,
    Field: (one) => (isOfCache(one) ? null : undefined),
  });
  const text = print(sent);
  selections.set(field, text);
  return text;
}
