import { TriviumError } from '../../client/core/trivium.js';

/** Why an operation gave nothing. */
export type GatewayError = TriviumError;

/** Whatever was thrown, as an error of the gateway. */
export function asGatewayError(cause: unknown): GatewayError {
  if (cause instanceof TriviumError) return cause;
  return new TriviumError('UNREACHABLE', 'The gateway cannot be reached.', { cause });
}

/** Whether it says that nobody is signed in. */
export const isUnauthenticated = ({ code }: GatewayError): boolean => code === 'UNAUTHENTICATED';
