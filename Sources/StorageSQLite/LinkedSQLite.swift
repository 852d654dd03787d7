import CSQLite

/// The SQLite library that the program uses. A release links it statically, so only the program can
/// report its version.
package enum LinkedSQLite {
  /// Version number, for example `3.40.1`.
  package static var version: String { String(cString: sqlite3_libversion()) }
}
