/** The names of what belongs to an embedded database at `path`, and lies beside it; any of them may be missing. */
export function filesOf(path: string) {
  return {
    /** SQLite's write-ahead log: what is committed and not yet in the database file. */
    wal: `${path}-wal`,
    /** SQLite's index of the write-ahead log, which it can make anew. */
    shm: `${path}-shm`,
    /** The key that seals secrets if the operator configures none. */
    key: `${path}.key`,
    /** Locked by the one process that may write the database. */
    lock: `${path}.lock`,
  } as const;
}
