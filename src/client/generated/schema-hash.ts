/** By which a client knows whether the gateway has the schema that it was built with. */
export const schemaHash = '56c159a9e193e611';
