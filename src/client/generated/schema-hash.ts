/** By which a client knows whether the gateway has the schema that it was built with. */
export const schemaHash = 'f41bc46dde56ff20';
