import LockstepModel
import LockstepStorage

/// Writes the copy of one account into an open store, in one transaction of the store's writer.
package final class SQLiteAccountTarget: AccountTarget {
  private let connection: SQLiteConnection
  private let directory: String
  private let move: AccountMove
  private let rows: StoreRowWriter
  private var isOpen = true

  /// Requires that another version of the account, if there is one, was removed.
  init(
    _ connection: SQLiteConnection, directory: String, _ move: AccountMove
  ) throws(StorageError) {
    self.connection = connection
    self.directory = directory
    self.move = move
    rows = try StoreRowWriter(connection)
    try connection.execute("BEGIN IMMEDIATE")
    do throws(StorageError) {
      try replaceDeparture()
    } catch {
      connection.rollBack()
      throw error
    }
  }

  deinit { close() }

  package func insert(_ more: StoreRows) throws(StorageError) {
    guard case .accounts(var accounts) = more else { return try rows.insert(more) }
    for place in accounts.indices {
      try refuseLabel(accounts[place])
      accounts[place].arrive(by: move)
    }
    try rows.insert(.accounts(accounts))
  }

  package func finish() throws(StorageError) {
    try connection.execute("COMMIT")
    isOpen = false
  }

  package func close() {
    if isOpen { connection.rollBack() }
    isOpen = false
  }

  private func replaceDeparture() throws(StorageError) {
    let residences = try ResidenceQueries(connection)
    let departure = try residences.departure(of: move.account)
    let isFree = try residences.lease(of: move.account) == nil
    guard isFree,
      departure.map({ $0.isCleared && $0.version < move.frozen.membershipVersion }) ?? true
    else {
      throw .failed(
        path: directory, operation: "receive the account",
        detail: "it has the account already, or knows a later move of it")
    }
    let id = Int64(bitPattern: move.account.rawValue)
    for table in Residences.tablesOfDepartures {
      try connection.execute("DELETE FROM \(table) WHERE account = \(id)")
    }
  }

  private func refuseLabel(_ account: ExportedAccount) throws(StorageError) {
    let labels = try AccountLabels(connection)
    guard let other = try labels.account(labelled: account.label) else { return }
    throw .failed(
      path: directory, operation: "receive the account",
      detail: "its account \(other.text) has the label of this one already")
  }
}
