import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';

/** How spans are written for a collector, by the protocol's name in OpenTelemetry's specification. */
export const encodings = {
  'http/json': { contentType: 'application/json', serializer: JsonTraceSerializer },
  'http/protobuf': { contentType: 'application/x-protobuf', serializer: ProtobufTraceSerializer },
};
export type Protocol = keyof typeof encodings;

/** The protocol that the environment names; JSON for one that is not spoken, of which `warningsOf` tells. */
export function protocolOf(environment: Readonly<Record<string, string | undefined>>): Protocol {
  const given =
    environment['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] || environment['OTEL_EXPORTER_OTLP_PROTOCOL'] || '';
  return Object.hasOwn(encodings, given) ? (given as Protocol) : 'http/json';
}
