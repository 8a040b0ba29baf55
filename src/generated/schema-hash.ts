/** By which a client knows whether the gateway has the schema that it was built with. */
export const schemaHash = '73d7007f14110667';
