import { readFileSync } from 'node:fs';
import { readConfig } from '../../../dist/config.js';
import { startGateway } from '../../../dist/gateway.js';

/** The built gateway, sending live updates by the public API of `ws`. */
const config = readConfig(process.env, (path) => readFileSync(path, 'utf8'));
const gateway = await startGateway(config, { frames: false });
process.once('SIGTERM', () => void gateway.stop().then(() => process.exit()));
process.stdout.write(`listening on ${gateway.url}\n`);
