/** The limits that the server keeps, in milliseconds. */
export const serverLimits = {
  // A query that hangs, on a mute server or a lock, frees its connection well within an operation's deadline.
  statement_timeout: 10_000,
  // A replica that froze inside a transaction must not lock the log's head for ever.
  idle_in_transaction_session_timeout: 10_000,
};

/** How long creating an index on a large table may take. */
export const indexTimeoutMs = 3_600_000;
