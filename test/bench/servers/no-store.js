import { register } from 'node:module';

/** Loaded into a gateway, it replaces only the log, by one that accepts every event and stores none. */
const source = `
  import { createLog as create } from './log.js?kept';
  export * from './log.js?kept';
  export function createLog(options) {
    return { ...create(options), append: async () => 'stored' };
  }`;
const hooks = `
  export async function load(url, context, next) {
    const ours = url.endsWith('/dist/events/log.js');
    return ours ? { format: 'module', source: ${JSON.stringify(source)}, shortCircuit: true } : next(url, context);
  }`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
