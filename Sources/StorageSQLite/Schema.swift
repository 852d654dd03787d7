import LockstepStorage

/// The versions of a database's tables, and the migration from each to the next.
///
/// `PRAGMA user_version` holds the version, `PRAGMA application_id` the kind of store.
struct Schema {
  /// Four letters that distinguish the file from those of other programs and from the other kind of
  /// store. Source: sqlite.org/fileformat.html, section 1.3.17.
  let applicationID: Int64
  /// The n-th step migrates from version n to n + 1. A released step is never changed.
  let steps: [String]

  var version: Int { steps.count }

  /// Rejects a file that is not a store of this kind, or that a newer program made. Writes nothing.
  func check(_ connection: SQLiteConnection) throws(StorageError) {
    let found = try connection.number("PRAGMA user_version")
    let application = try connection.number("PRAGMA application_id")
    if found == 0, application == 0 {
      let tables = try connection.number("SELECT count(*) FROM sqlite_schema")
      guard tables == 0 else { throw connection.damage("it is the database of another program") }
      return
    }
    guard application == applicationID, found > 0 else {
      throw connection.damage("it is not a store of this kind")
    }
    guard found <= version else {
      throw .tooNew(path: connection.path, found: Int(clamping: found), known: version)
    }
  }

  /// Migrates to the newest version, in one transaction.
  func migrate(_ connection: SQLiteConnection) throws(StorageError) {
    let found = Int(clamping: try connection.number("PRAGMA user_version"))
    guard found < version else { return }
    let script = steps[found...].joined(separator: "\n")
    do {
      try connection.execute(
        """
        BEGIN IMMEDIATE;
        \(script)
        PRAGMA application_id = \(applicationID);
        PRAGMA user_version = \(version);
        COMMIT;
        """)
    } catch {
      connection.rollBack()
      throw error
    }
  }
}
