import { createContext, use } from 'react';
import type { Gateway } from './gateway.js';

/** The gateway that the page works with. */
export const GatewayContext = createContext<Gateway | undefined>(undefined);

/** The gateway that the page works with. */
export function useGateway(): Gateway {
  const gateway = use(GatewayContext);
  if (!gateway) throw new Error('There is no GatewayContext.');
  return gateway;
}
