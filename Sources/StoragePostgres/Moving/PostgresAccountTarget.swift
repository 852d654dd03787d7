import LockstepModel
import LockstepStorage

/// Writes the copy of one account into a database, in one transaction, while relays run on it.
package final class PostgresAccountTarget: AccountTarget {
  private let session: MovingSession
  private let move: AccountMove
  /// Label of the account. It is set at the end, so that no relay waits for the lock of labels
  /// while rows are copied.
  private var label = ""

  /// Requires that another version of the account, if there is one, was removed. Throws `failed`
  /// with the next step if the account lives there, or another has its label.
  package init(_ address: PostgresAddress, _ move: AccountMove) throws(StorageError) {
    self.move = move
    session = try MovingSession(address)
    let session = session
    let isFree = try session.run("receive an account") { () throws(PostgresFault) in
      var pipeline = PostgresPipeline()
      pipeline.add(.begin)
      pipeline.add(PostgresSession.long)
      pipeline.add(MovingSession.patient)
      let id = PostgresParameters().bind(move.account.rawValue)
      // A cleared entry of an earlier departure is replaced.
      let former = pipeline.add(
        PostgresAccountTarget.replace, id.bind(move.frozen.membershipVersion))
      for removal in MoveQueries.removals.dropLast() { pipeline.add(removal, id) }
      let rows = try session.connection.run(pipeline, within: Limits.removalMilliseconds)
      return rows[former].first { $0.bool(0) } ?? false
    }
    guard isFree else {
      close()
      throw .failed(
        path: address.shown, operation: "receive the account",
        detail: "it has the account already, or knows a later move of it")
    }
  }

  package func insert(_ rows: StoreRows) throws(StorageError) {
    var rows = rows
    if case .accounts(var accounts) = rows {
      for place in accounts.indices {
        label = accounts[place].label
        accounts[place].label = ""
        accounts[place].arrive(by: move)
      }
      rows = .accounts(accounts)
    }
    try session.run("receive an account") { () throws(PostgresFault) in
      _ = try session.connection.run(
        StoreRow.insert(into: rows.table), StoreRow.parameters(rows),
        within: Limits.removalMilliseconds)
    }
  }

  package func finish() throws(StorageError) {
    try setLabel()
    try session.run("receive an account") { () throws(PostgresFault) in
      var pipeline = PostgresPipeline()
      let commit = pipeline.add(.commit)
      _ = try session.connection.run(
        pipeline, within: Limits.removalMilliseconds, commit: commit)
    }
  }

  package func close() { session.connection.close() }

  private func setLabel() throws(StorageError) {
    guard !label.isEmpty else { return }
    let others = try session.run("receive an account") { () throws(PostgresFault) in
      var pipeline = PostgresPipeline()
      pipeline.add(AccountWriter.lockLabels)
      pipeline.add(AccountWriter.labels)
      return try session.connection.run(pipeline, within: Limits.removalMilliseconds)[1]
        .all { (id: AccountID(rawValue: $0.bits(0)), label: $0.text(1)) }
    }
    if let other = others.first(where: { AccountLabel.areSame($0.label, label) }) {
      throw .failed(
        path: session.address.shown, operation: "receive the account",
        detail: "its account \(other.id.text) has the label of this one already")
    }
    let parameters = PostgresParameters().bind(move.account.rawValue).bind(label)
    _ = try session.run("receive an account") { () throws(PostgresFault) in
      try session.connection.run(PostgresAccountTarget.setLabel, parameters)
    }
  }

  private static let setLabel = PostgresStatement(
    "set label", "UPDATE accounts SET label = $2::text WHERE account = $1::bigint")

  /// Returns true if nothing of the account is left but what may be replaced, and locks that.
  private static let replace = PostgresStatement(
    "replace departure",
    """
    WITH gone AS (
      DELETE FROM departed WHERE account = $1::bigint AND cleared AND version < $2::bigint
      RETURNING 1)
    SELECT NOT EXISTS (SELECT 1 FROM accounts WHERE account = $1::bigint)
      AND (SELECT count(*) FROM departed WHERE account = $1::bigint) = (SELECT count(*) FROM gone)
    """)
}
