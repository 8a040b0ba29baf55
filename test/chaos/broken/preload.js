// Breaks the gateway of this process on purpose: `node --import <this file>?<variant> dist/main.js`.
import { register } from 'node:module';

const variant = new URL(import.meta.url).search.slice(1);
register('./hooks.js', import.meta.url, { data: { variant } });
