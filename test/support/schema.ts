import { createSchema as create } from '../../src/api/schema.js';

/** The gateway's schema. */
export const createSchema = () => create(new URL('../../schema/', import.meta.url));
