import CPostgres
import LockstepModel
import LockstepStorage

extension PostgresConnection {
  /// Runs `body` in a session, after connecting if there is none. Repeats it a few times if another
  /// relay or a restart of the server prevented it and nothing was changed. A transaction that
  /// `body` leaves open is rolled back.
  ///
  /// `operation`: the text for the error, as in "failed to read".
  func perform<Value>(
    _ operation: String, _ body: () throws(PostgresFault) -> Value
  ) throws(StorageError) -> Value {
    let begun = lockstep_postgres_milliseconds()
    var attempt = 1
    while true {
      let fault: PostgresFault
      do throws(PostgresFault) {
        try open()
        try renewPlans()
        return try body()
      } catch {
        fault = error
      }
      clear()
      let elapsed = lockstep_postgres_milliseconds() - begun
      guard fault.mayRepeat, attempt < Limits.databaseAttempts,
        elapsed < Limits.databaseAnswerMilliseconds / 2, !isClosed
      else { throw StorageError(fault, path: address.shown, operation: operation) }
      // A connection that was lost while idle is restored without a pause.
      if attempt > 1 { pause() }
      attempt += 1
    }
  }

  /// Rolls back an open transaction.
  private func clear() {
    guard isOpen, isInTransaction else { return }
    do throws(PostgresFault) {
      _ = try run(.rollBack)
    } catch {
      drop()
    }
  }

  private func pause() {
    let end = lockstep_postgres_milliseconds() + Limits.databasePauseMilliseconds
    _ = lockstep_postgres_wait(-1, false, -1, end)
  }
}
