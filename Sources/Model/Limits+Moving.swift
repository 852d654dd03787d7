/// Limits of moving a store to another place.
extension Limits {
  /// Rows of one table that are read from one store and written to the other at once. A portion
  /// also ends with the row that brings it to `movedBytes`.
  public static let movedRows = 1_000
  public static let movedBytes = 8 << 20
  /// Records that are read from a database at once; each may have `recordBytes`.
  public static let movedRecords = 64
}
