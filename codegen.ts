import type { CodegenConfig } from '@graphql-codegen/cli';
import { config as common } from './src/client/codegen/codegen.js';

/** Without what only routers of a supergraph ask for. */
const schema = 'schema/!(federation).graphql';

const config: CodegenConfig = {
  generates: {
    'src/generated/resolvers.ts': {
      schema: 'schema/*.graphql',
      plugins: ['typescript', 'typescript-resolvers'],
      config: {
        ...common,
        scalars: { ...common.scalars, _Any: 'unknown' },
        enumsAsTypes: true,
        mappers: {
          User: '../models/user.js#User as UserModel',
          Note: '../models/note.js#Note as NoteModel',
          Tag: '../models/note.js#Tag as TagModel',
          Appointment: '../models/appointment.js#Appointment as AppointmentModel',
          AppointmentParticipant: '../models/appointment.js#Participant as ParticipantModel',
          Reference: '{ readonly reference: string }',
          Shipment: '../models/shipment.js#Shipment as ShipmentModel',
          ShipmentEvent: '../models/shipment.js#ShipmentEvent as ShipmentEventModel',
          ShipmentUpdate: '../models/shipment.js#ShipmentUpdate as ShipmentUpdateModel',
          Payment: '../models/payment.js#Payment as PaymentModel',
          PaymentEvent: '../models/payment.js#PaymentEvent as PaymentEventModel',
          PaymentUpdate: '../models/payment.js#PaymentUpdate as PaymentUpdateModel',
          WebhookEndpoint: '../models/webhook.js#WebhookEndpoint as WebhookEndpointModel',
          WebhookDelivery: '../models/webhook.js#WebhookDelivery as WebhookDeliveryModel',
        },
      },
    },
    'src/client/generated/index.ts': {
      schema,
      documents: 'src/client/operations.graphql',
      plugins: [{ add: { content: '/* eslint-disable */' } }, 'typescript-operations', 'typed-document-node'],
      config: { ...common, documentNodeImport: '../core/document.js#TypedDocumentNode' },
    },
    'src/console/generated/index.ts': {
      schema,
      documents: 'src/console/operations.graphql',
      plugins: [{ add: { content: '/* eslint-disable */' } }, 'typescript-operations', 'typed-document-node'],
      config: { ...common, documentMode: 'string' },
    },
    'src/generated/schema.graphql': {
      schema,
      plugins: ['schema-ast'],
      config: { includeDirectives: true },
    },
  },
};

export default config;
