/** The base with what the gateway does besides: it keeps what recurs, and commits together what waits. */
process.env.TUNED = 'yes';
await import('./handwritten.js');
