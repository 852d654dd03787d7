import CSQLite

/// The SQLite that the program runs with. A release has it linked in, so that only the program can
/// tell.
package enum LinkedSQLite {
  /// `3.40.1`.
  package static var version: String { String(cString: sqlite3_libversion()) }
}
