import LockstepStorage

/// Integrity check of a home's database.
extension SQLiteReplicaStore {
  /// Returns the schema version.
  package func schema() throws(StorageError) -> Int {
    Int(clamping: try connection.number("PRAGMA user_version"))
  }

  /// Returns the errors that SQLite's integrity check finds, one per line; at most `limit`. Reads
  /// the whole file.
  package func damages(limit: Int) throws(StorageError) -> [String] {
    try connection.damages(limit: limit)
  }
}
