/// How a store is moved to another place.
extension Limits {
  /// Rows that are read from one store and written to the other at once, of one table; a portion
  /// ends as well with the row that takes it to so many bytes.
  public static let movedRows = 1_000
  public static let movedBytes = 8 << 20
  /// Records that a database is asked for at once, each of which may have `recordBytes`.
  public static let movedRecords = 64
}
