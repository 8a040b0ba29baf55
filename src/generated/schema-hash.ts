/** By which a client knows whether the gateway has the schema that it was built with. */
export const schemaHash = 'c4baa29240115f4a';
