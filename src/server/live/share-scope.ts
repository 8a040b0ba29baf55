import { Kind, TypeInfo, visit, visitWithTypeInfo, type DocumentNode, type GraphQLSchema } from 'graphql';

/** What decides who may share a document's messages. */
export interface Sharing {
  /** Whether fields below the root take arguments: those are read for the caller, so users do not share messages. */
  readonly isPersonal: boolean;
  /** The variables used for `after` and nothing else: subscriptions that differ in these alone share messages. */
  readonly cursorVariables: ReadonlySet<string>;
}

/** Analyses documents of this schema, each of them once. */
export function createSharingAnalysis(schema: GraphQLSchema): (document: DocumentNode) => Sharing {
  const known = new WeakMap<DocumentNode, Sharing>();
  return (document) => {
    const sharing = known.get(document) ?? analyse(schema, document);
    known.set(document, sharing);
    return sharing;
  };
}

function analyse(schema: GraphQLSchema, document: DocumentNode): Sharing {
  const types = new TypeInfo(schema);
  const isRoot = () => types.getParentType() === schema.getSubscriptionType();
  const cursorVariables = new Set<string>();
  const others = new Set<string>();
  let isPersonal = false;
  visit(
    document,
    visitWithTypeInfo(types, {
      VariableDefinition: () => false,
      Field() {
        if (!isRoot() && (types.getFieldDef()?.args.length ?? 0) > 0) isPersonal = true;
      },
      Argument({ name, value }) {
        if (!isRoot() || name.value !== 'after' || value.kind !== Kind.VARIABLE) return undefined;
        cursorVariables.add(value.name.value);
        return false;
      },
      Variable: ({ name }) => void others.add(name.value),
    }),
  );
  for (const name of others) cursorVariables.delete(name);
  return { isPersonal, cursorVariables };
}
