import { register } from 'node:module';

/**
 * Replaces the log of a gateway that is started afterwards by the `createLog` of this module, which gets the kept one
 * from `storedLog`.
 * @param {string} module
 */
export function replaceLog(module) {
  const source = `
    export * from './log.js?kept';
    export { createLog } from ${JSON.stringify(module)};`;
  const hooks = `
    export async function load(url, context, next) {
      const ours = url.endsWith('/dist/events/log/log.js');
      return ours ? { format: 'module', source: ${JSON.stringify(source)}, shortCircuit: true } : next(url, context);
    }`;
  register(`data:text/javascript,${encodeURIComponent(hooks)}`);
}

const kept = new URL('../../../dist/events/log/log.js?kept', import.meta.url).href;

/** The log as it is built. */
export const storedLog = /** @type {typeof import('../../../dist/events/log/log.js')} */ (await import(kept));
