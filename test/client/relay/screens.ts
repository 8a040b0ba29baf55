import { printSchema } from 'graphql';
import { compile, type Artifacts } from '../../relay/compile.js';
import { createSchema } from '../../support/schema.js';

/** What a page asks of a family. */
const ofFamily = (type: string) => `
query Screen${type}Query($count: Int, $filter: ${type}Filter) {
  ...Screen${type}_query @arguments(count: $count)
}

fragment Screen${type}_query on Query
@argumentDefinitions(count: { type: "Int", defaultValue: 3 }, cursor: { type: "String" })
@refetchable(queryName: "Screen${type}PageQuery") {
  liveCursor
  ${type.toLowerCase()}s(first: $count, after: $cursor, filter: $filter)
  @connection(key: "Screen${type}_${type.toLowerCase()}s") {
    edges {
      node {
        ...Screen${type}_row @relay(mask: false)
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}

fragment Screen${type}_row on ${type} {
  id
  ${type.toLowerCase()}Id
  ${type === 'Shipment' ? 'stage carrier' : 'currency livemode'}
  updatedAt
  revision
}

subscription Screen${type}Subscription($after: String) {
  ${type.toLowerCase()}Updates(after: $after) {
    cursor
    ${type.toLowerCase()} {
      ...Screen${type}_row @relay(mask: false)
    }
  }
}
`;

const documents = `
${['Shipment', 'Payment'].map(ofFamily).join('\n')}

mutation ScreenMutation($input: CreateNoteInput!) {
  createNote(input: $input) {
    note {
      title
    }
  }
}

query ScreenViewerQuery {
  viewer {
    email
  }
}
`;

/** What Relay's compiler makes of the lists, the subscriptions and the mutation of a page. */
export const compileScreens = (): Promise<Artifacts> => compile(printSchema(createSchema()), documents);
