/** `npm run docs:tables`: writes the tables of settings, limits, error codes and metrics into their pages. */
import { madeTables } from './tables/all.js';
import { writeTables } from './tables/table.js';

await writeTables(await madeTables());
