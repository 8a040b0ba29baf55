import { Kind, type DocumentNode, type FieldNode, type SelectionSetNode } from 'graphql';
import { fragmentsOf } from './cost-estimate.js';

/** Fields that answer to the same name, by that name; and how many fragments they come from, directly or through others. */
interface Merged {
  readonly fields: ReadonlyMap<string, readonly FieldNode[]>;
  readonly fragments: number;
  readonly directFragments: number;
}

/**
 * Whether GraphQL's rule that fields of one name can be merged, which compares them all with each other, would compare
 * more than `most`. Itself it takes no more steps than that.
 */
export function comparesMoreThan(document: DocumentNode, most: number): boolean {
  const fragments = fragmentsOf(document);
  let steps = 0;

  /** Fields with those of fragments, each of which counts once. */
  function merge(sets: readonly SelectionSetNode[]): Merged {
    const fields = new Map<string, FieldNode[]>();
    const spread = new Set<string>();
    const direct = new Set<string>();
    const waiting = sets.map(({ selections }) => ({ selections, isDirect: true }));
    // Grows during the loop.
    for (const { selections, isDirect } of waiting) {
      steps += selections.length;
      if (steps > most) break;
      for (const selection of selections)
        if (selection.kind === Kind.FIELD) add(fields, selection);
        else if (selection.kind === Kind.INLINE_FRAGMENT)
          waiting.push({ selections: selection.selectionSet.selections, isDirect });
        else {
          const name = selection.name.value;
          if (isDirect) direct.add(name);
          const fragment = spread.has(name) ? undefined : fragments.get(name);
          spread.add(name);
          if (fragment) waiting.push({ selections: fragment.selectionSet.selections, isDirect: false });
        }
    }
    return { fields, fragments: spread.size, directFragments: direct.size };
  }

  function compare(sets: readonly SelectionSetNode[]): void {
    const { fields, fragments: count, directFragments } = merge(sets);
    steps += count + (count * fields.size) / 2;
    // Only fragments that are spread side by side are compared with each other, and so are those that they spread.
    if (directFragments > 1) steps += (count * count) / 2;
    for (const same of fields.values()) {
      if (steps > most) return;
      steps += (same.length * (same.length - 1)) / 2;
      const below = same.flatMap(({ selectionSet }) => selectionSet ?? []);
      if (below.length > 1) compare(below);
    }
  }

  /** Each set is also looked at by itself. */
  function visit({ selections }: SelectionSetNode): void {
    if (steps > most) return;
    compare([{ kind: Kind.SELECTION_SET, selections }]);
    for (const selection of selections)
      if ('selectionSet' in selection && selection.selectionSet) visit(selection.selectionSet);
  }

  for (const definition of document.definitions)
    if ('selectionSet' in definition) visit(definition.selectionSet);
  return steps > most;
}

function add(fields: Map<string, FieldNode[]>, field: FieldNode): void {
  const name = (field.alias ?? field.name).value;
  const same = fields.get(name);
  if (same) same.push(field);
  else fields.set(name, [field]);
}
