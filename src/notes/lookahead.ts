import {
  getDirectiveValues,
  GraphQLIncludeDirective,
  type GraphQLResolveInfo,
  GraphQLSkipDirective,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';

/**
 * Whether the operation asks for the field at this path below the one being resolved, so that what it costs is
 * fetched once at the root, and only then.
 */
export function asksFor(info: GraphQLResolveInfo, ...path: readonly string[]): boolean {
  return info.fieldNodes.some(({ selectionSet }) => selects(selectionSet, path, info));
}

function selects(
  set: SelectionSetNode | undefined,
  path: readonly string[],
  info: GraphQLResolveInfo,
): boolean {
  return !!set?.selections.some((selection) => isIncluded(selection, info) && leadsTo(selection, path, info));
}

function leadsTo(selection: SelectionNode, path: readonly string[], info: GraphQLResolveInfo): boolean {
  if (selection.kind === Kind.INLINE_FRAGMENT) return selects(selection.selectionSet, path, info);
  if (selection.kind === Kind.FRAGMENT_SPREAD)
    return selects(info.fragments[selection.name.value]?.selectionSet, path, info);
  const [name, ...rest] = path;
  return selection.name.value === name && (rest.length === 0 || selects(selection.selectionSet, rest, info));
}

function isIncluded(selection: SelectionNode, { variableValues }: GraphQLResolveInfo): boolean {
  if (!selection.directives?.length) return true;
  const skip = getDirectiveValues(GraphQLSkipDirective, selection, variableValues);
  const include = getDirectiveValues(GraphQLIncludeDirective, selection, variableValues);
  return skip?.['if'] !== true && include?.['if'] !== false;
}
