import {
  Kind,
  OperationTypeNode,
  visit,
  type DocumentNode,
  type FieldNode,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import { fragmentsOf } from '../operation/cost/cost-estimate.js';

/** Introspection; and a name by which the compiled code would set the prototype, and lose the value. */
const unusual = /\b__(schema|type|proto__)\b/;
/** Without the `@`: blanks, commas and comments may stand between it and the name. */
const conditions = /\b(skip|include)\b/;

/** The query of a document that has no other operation, if the compiler is sure to treat it as Apollo Server does. */
export function plainQuery(source: string, document: DocumentNode): OperationDefinitionNode | undefined {
  const [only, ...others] = document.definitions.filter(
    (definition) => definition.kind === Kind.OPERATION_DEFINITION,
  );
  const plain = others.length === 0 && only?.operation === OperationTypeNode.QUERY;
  if (!plain || unusual.test(source)) return undefined;
  const isSure =
    !conditions.test(source) || (areSpreadOnce(document) && comeOnce(only, document, answerName));
  return isSure ? only : undefined;
}

/** The compiler joins the conditions of all places where a fragment is spread, and has its fields meet all of them. */
function areSpreadOnce(document: DocumentNode): boolean {
  const spread: string[] = [];
  visit(document, { FragmentSpread: ({ name }) => void spread.push(name.value) });
  return new Set(spread).size === spread.length;
}

/** If a name is repeated, and a variable leaves out its first field, the compiler orders the fields differently. */
const answerName = ({ name, alias = name }: FieldNode): string => alias.value;

/** Whether `nameOf` gives every field a name of its own within its selection set, fragments expanded. */
function comeOnce(
  { selectionSet: root }: OperationDefinitionNode,
  document: DocumentNode,
  nameOf: (field: FieldNode) => string,
): boolean {
  const fragments = fragmentsOf(document);
  const areNew = ({ selections }: SelectionSetNode, names: Set<string>): boolean =>
    selections.every((selection) => {
      if (selection.kind === Kind.FIELD) {
        const name = nameOf(selection);
        if (names.has(name)) return false;
        names.add(name);
        return !selection.selectionSet || areNew(selection.selectionSet, new Set());
      }
      const isInline = selection.kind === Kind.INLINE_FRAGMENT;
      const spread = isInline ? selection : fragments.get(selection.name.value);
      return spread !== undefined && areNew(spread.selectionSet, names);
    });
  return areNew(root, new Set());
}

/** Whether a selection set of the operation, fragments expanded, names a field more than once. */
export function repeatsFields(operation: OperationDefinitionNode, document: DocumentNode): boolean {
  return !comeOnce(operation, document, ({ name }) => name.value);
}
