/// A store that is read as a whole, to be moved: as it is at one moment, while nobody else has it.
package protocol StoreSource: AnyObject {
  var totals: StoreTotals { get }
  /// An older copy was put back here, and no relay has noticed yet. What is moved is one as well.
  var isOlderCopy: Bool { get }

  /// The next rows, in the order of `StoreTable`: one at least, and no more than a portion
  /// (`Limits.movedRows`, `Limits.movedBytes` and one row). Nil at the end.
  func next() throws(StorageError) -> StoreRows?

  /// Throws where somebody else has written to the store since it is being read, or may have.
  func confirm() throws(StorageError)

  /// The store was moved. It stays as it is, and from now on is taken for an older copy by a relay
  /// that is started on it all the same: its accounts begin new generations, and devices bring back
  /// what it lacks of the moved one, instead of two histories going under one name.
  func retire() throws(StorageError)

  func close()
}

/// A store that is made as a whole, of what another one holds. Until `finish` nobody can mistake it
/// for a store.
package protocol StoreTarget: AnyObject {
  /// Rows in the order of `StoreTable`.
  func take(_ rows: StoreRows) throws(StorageError)

  /// Everything is there: it is a store from here on, durably. Throws where it does not hold what
  /// `totals` says. `isOlderCopy`: a relay is to take it for an older copy.
  func finish(_ totals: StoreTotals, isOlderCopy: Bool) throws(StorageError)

  /// Removes what was taken, as far as that can be done.
  func abandon() throws(StorageError)

  func close()
}
