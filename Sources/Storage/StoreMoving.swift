/// Store that is read as a whole, to be moved: one consistent state, with exclusive access.
package protocol StoreSource: AnyObject {
  var totals: StoreTotals { get }
  /// True if the store was restored from an older copy and no relay has noticed yet. The moved
  /// store is then an older copy, too.
  var isOlderCopy: Bool { get }

  /// Returns the next rows, in the order of `StoreTable`: at least one, and at most a portion
  /// (`Limits.movedRows`, `Limits.movedBytes` and one row). Returns nil at the end.
  func next() throws(StorageError) -> StoreRows?

  /// Throws if another process has written to the store since the read began, or may have.
  func confirm() throws(StorageError)

  /// Marks the store as moved, without changing its content. A relay that is started on it anyway
  /// then treats it as an older copy: its accounts begin new generations, and devices upload what
  /// it lacks of the moved store. Otherwise two histories would have the same name.
  func retire() throws(StorageError)

  func close()
}

/// Store that is created as a whole from the content of another one. Before `finish` it cannot be
/// mistaken for a store.
package protocol StoreTarget: AnyObject {
  /// Adds rows, in the order of `StoreTable`.
  func take(_ rows: StoreRows) throws(StorageError)

  /// Completes the store, durably. Throws if its content differs from `totals`. `isOlderCopy`: true
  /// if a relay has to treat it as an older copy.
  func finish(_ totals: StoreTotals, isOlderCopy: Bool) throws(StorageError)

  /// Removes the rows added so far, if possible.
  func abandon() throws(StorageError)

  func close()
}
