import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';

/** How spans are written for a collector, by the protocol's name in OpenTelemetry's specification. */
export const encodings = {
  'http/json': { contentType: 'application/json', serializer: JsonTraceSerializer },
  'http/protobuf': { contentType: 'application/x-protobuf', serializer: ProtobufTraceSerializer },
};
export type Protocol = keyof typeof encodings;
const usual: Protocol = 'http/json';

/** The first of these that is set decides. */
const settings = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'];

/** The protocol that the environment names. `refuse` hears a sentence about one that is not spoken. */
export function protocolOf(
  environment: Readonly<Record<string, string | undefined>>,
  refuse: (reason: string) => void,
): Protocol {
  const setting = settings.find((name) => environment[name]?.trim());
  const given = setting ? environment[setting]!.trim() : usual;
  if (Object.hasOwn(encodings, given)) return given as Protocol;
  const known = Object.keys(encodings).join(' or ');
  refuse(`${setting}: ${given} is not among ${known}; traces are sent as ${usual}`);
  return usual;
}
