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
 * Whether the operation selects the field at this path below the one being resolved, so that what the field needs is
 * fetched once at the root, and only then. Takes time linear in the document, however often a fragment is spread.
 */
export function asksFor(info: GraphQLResolveInfo, ...path: readonly string[]): boolean {
  const search = { path, info, seen: new Set<string>() };
  return info.fieldNodes.some(({ selectionSet }) => selects(selectionSet, search, 0));
}

interface Search {
  readonly path: readonly string[];
  readonly info: GraphQLResolveInfo;
  /** Which fragments have been searched for which step of the path. */
  readonly seen: Set<string>;
}

/** Whether these selections contain the rest of the path, from this step on. */
function selects(set: SelectionSetNode | undefined, search: Search, step: number): boolean {
  return !!set?.selections.some(
    (selection) => isIncluded(selection, search.info) && leadsTo(selection, search, step),
  );
}

function leadsTo(selection: SelectionNode, search: Search, step: number): boolean {
  const { path, seen, info } = search;
  if (selection.kind === Kind.INLINE_FRAGMENT) return selects(selection.selectionSet, search, step);
  const { value: name } = selection.name;
  if (selection.kind === Kind.FRAGMENT_SPREAD) {
    const spread = `${step} ${name}`;
    if (seen.has(spread)) return false;
    seen.add(spread);
    return selects(info.fragments[name]?.selectionSet, search, step);
  }
  if (name !== path[step]) return false;
  return step === path.length - 1 || selects(selection.selectionSet, search, step + 1);
}

function isIncluded(selection: SelectionNode, { variableValues }: GraphQLResolveInfo): boolean {
  if (!selection.directives?.length) return true;
  const skip = getDirectiveValues(GraphQLSkipDirective, selection, variableValues);
  const include = getDirectiveValues(GraphQLIncludeDirective, selection, variableValues);
  return skip?.['if'] !== true && include?.['if'] !== false;
}
