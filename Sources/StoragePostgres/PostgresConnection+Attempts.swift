import CPostgres
import LockstepModel
import LockstepStorage

extension PostgresConnection {
  /// Does `body` in a session, a new one where there is none; again, a few times, where another
  /// relay or a restart of the server was in the way and nothing was done yet. What a transaction
  /// of `body` left behind is rolled back.
  ///
  /// `operation`: what failed, should it fail, as in "failed to read".
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
      // A connection that was lost while nobody looked is made anew at once.
      if attempt > 1 { pause() }
      attempt += 1
    }
  }

  /// Leaves no transaction behind.
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
