import type { CodegenConfig } from '@graphql-codegen/cli';

const scalars = {
  ID: 'string',
  DateTime: 'string',
  SafeInt: 'number',
  JSON: 'unknown',
};

const common = {
  scalars,
  strictScalars: true,
  useTypeImports: true,
  immutableTypes: true,
};

const config: CodegenConfig = {
  schema: 'schema/*.graphql',
  generates: {
    'src/generated/resolvers.ts': {
      plugins: ['typescript', 'typescript-resolvers'],
      config: {
        ...common,
        enumsAsTypes: true,
        mappers: {
          User: '../sessions/model.js#User as UserModel',
          Note: '../notes/model.js#Note as NoteModel',
          Tag: '../notes/model.js#Tag as TagModel',
          Appointment: '../appointments/model.js#Appointment as AppointmentModel',
          AppointmentParticipant: '../appointments/model.js#Participant as ParticipantModel',
          Reference: '{ readonly reference: string }',
          Shipment: '../shipments/model.js#Shipment as ShipmentModel',
          ShipmentEvent: '../shipments/model.js#ShipmentEvent as ShipmentEventModel',
          ShipmentUpdate: '../shipments/model.js#ShipmentUpdate as ShipmentUpdateModel',
          Payment: '../payments/model.js#Payment as PaymentModel',
          PaymentEvent: '../payments/model.js#PaymentEvent as PaymentEventModel',
          PaymentUpdate: '../payments/model.js#PaymentUpdate as PaymentUpdateModel',
        },
      },
    },
    'src/client/generated/index.ts': {
      documents: 'src/client/operations.graphql',
      plugins: [{ add: { content: '/* eslint-disable */' } }, 'typescript-operations', 'typed-document-node'],
      config: common,
    },
    'src/generated/schema.graphql': {
      plugins: ['schema-ast'],
      config: { includeDirectives: true },
    },
  },
};

export default config;
