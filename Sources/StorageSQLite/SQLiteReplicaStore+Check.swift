import LockstepStorage

/// Whether a home's database is whole.
extension SQLiteReplicaStore {
  /// The version of its tables.
  package func schema() throws(StorageError) -> Int {
    Int(clamping: try connection.number("PRAGMA user_version"))
  }

  /// What SQLite itself finds wrong in the file, a line each; at most `limit`. Reads all of it.
  package func damages(limit: Int) throws(StorageError) -> [String] {
    try connection.damages(limit: limit)
  }
}
