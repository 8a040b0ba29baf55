import { createRoot } from 'react-dom/client';
import { App } from './app/app.js';
import { createGateway } from './data/gateway.js';
import { GatewayContext } from './data/use-gateway.js';

const root = document.getElementById('root');
if (root)
  createRoot(root).render(
    <GatewayContext value={createGateway(location.origin)}>
      <App />
    </GatewayContext>,
  );
