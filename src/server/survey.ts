import { Kind, TypeInfo, visit, visitWithTypeInfo, type DocumentNode, type GraphQLSchema } from 'graphql';

/** What decides who may share a document's messages. */
export interface Survey {
  /** Whether fields below the root take arguments: those are read for the caller, so users do not share messages. */
  readonly isPersonal: boolean;
  /** The variables used for `after` and nothing else: subscriptions that differ in these alone share messages. */
  readonly places: ReadonlySet<string>;
}

/** Surveys documents of this schema, each of them once. */
export function createSurveys(schema: GraphQLSchema): (document: DocumentNode) => Survey {
  const surveys = new WeakMap<DocumentNode, Survey>();
  return (document) => {
    const survey = surveys.get(document) ?? makeSurvey(schema, document);
    surveys.set(document, survey);
    return survey;
  };
}

function makeSurvey(schema: GraphQLSchema, document: DocumentNode): Survey {
  const types = new TypeInfo(schema);
  const isRoot = () => types.getParentType() === schema.getSubscriptionType();
  const places = new Set<string>();
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
        places.add(value.name.value);
        return false;
      },
      Variable: ({ name }) => void others.add(name.value),
    }),
  );
  for (const name of others) places.delete(name);
  return { isPersonal, places };
}
