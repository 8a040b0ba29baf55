/** By which a client knows whether the gateway has the schema that it was built with. */
export const schemaHash = 'c217f75db5ba2a55';
