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
  return info.fieldNodes.some(({ selectionSet }) => selects(selectionSet, path, 0, info));
}

/** Whether these selections have what the path names from this step of it on. */
function selects(
  set: SelectionSetNode | undefined,
  path: readonly string[],
  step: number,
  info: GraphQLResolveInfo,
): boolean {
  return !!set?.selections.some(
    (selection) => leadsTo(selection, path, step, info) && isIncluded(selection, info),
  );
}

function leadsTo(
  selection: SelectionNode,
  path: readonly string[],
  step: number,
  info: GraphQLResolveInfo,
): boolean {
  if (selection.kind === Kind.INLINE_FRAGMENT) return selects(selection.selectionSet, path, step, info);
  if (selection.kind === Kind.FRAGMENT_SPREAD)
    return selects(info.fragments[selection.name.value]?.selectionSet, path, step, info);
  if (selection.name.value !== path[step]) return false;
  return step === path.length - 1 || selects(selection.selectionSet, path, step + 1, info);
}

function isIncluded(selection: SelectionNode, { variableValues }: GraphQLResolveInfo): boolean {
  if (!selection.directives?.length) return true;
  const skip = getDirectiveValues(GraphQLSkipDirective, selection, variableValues);
  const include = getDirectiveValues(GraphQLIncludeDirective, selection, variableValues);
  return skip?.['if'] !== true && include?.['if'] !== false;
}
