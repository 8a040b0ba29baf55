/** By which a client knows whether the gateway has the schema that it was built with. */
export const schemaHash = 'e6ebb586cb923f1c';
