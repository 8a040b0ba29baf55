import { Kind, TypeInfo, visit, visitWithTypeInfo, type DocumentNode, type GraphQLSchema } from 'graphql';

/** What decides who may share a document's messages. */
export interface Survey {
  /** Fields below the root that take arguments are read for the one who asks: they are not shared between users. */
  readonly isPersonal: boolean;
  /** The variables that tell where to begin and nothing else: those who differ in them alone want the same. */
  readonly places: ReadonlySet<string>;
}

/** Surveys of a schema's documents, each made once. */
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
