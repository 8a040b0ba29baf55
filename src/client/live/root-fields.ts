import { Kind, valueFromASTUntyped, type DocumentNode, type FieldNode, type SelectionSetNode } from 'graphql';

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

/** The values of a field's arguments. */
export function argumentsOf(field: FieldNode, variables: object): Readonly<Record<string, unknown>> {
  const named = (field.arguments ?? []).map(({ name, value }) => [
    name.value,
    valueFromASTUntyped(value, variables as Record<string, unknown>),
  ]);
  return Object.fromEntries(named) as Readonly<Record<string, unknown>>;
}
