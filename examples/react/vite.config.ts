import { defineConfig } from 'vite';

/** On the gateway's own host name, so that the session's cookie counts; `localhost` would be another site. */
export default defineConfig({ server: { host: '127.0.0.1' }, preview: { host: '127.0.0.1' } });
