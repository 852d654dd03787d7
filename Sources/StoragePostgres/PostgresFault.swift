/// Error of the database. `StorageError` reports it to users; this type decides inside the module
/// about repetition.
struct PostgresFault: Error, Hashable {
  enum Cause: Hashable {
    /// The server rejected the statement. SQLSTATE, five letters and digits (PostgreSQL's manual,
    /// appendix A).
    case refused(state: String)
    /// There is no connection, or it was lost.
    case lost
    /// The connection is open, and no answer came before the deadline.
    case late
    /// A server or a database that this program cannot use.
    case unfit
    /// A row has an invalid value.
    case damaged
    /// Written by a newer version of this program.
    case tooNew(found: Int, known: Int)
  }

  var cause: Cause
  /// Text of the server or of libpq; never a value of a row, never a password.
  var message: String
  /// Index of the failed statement in its pipeline.
  var step: Int?
  /// True if a commit was sent and its outcome is unknown.
  var isUnknown = false

  /// True if a repetition may succeed at once.
  ///
  /// Nothing was changed then: a lost connection rolls back its transaction, and a duplicate random
  /// id of two relays is detected once the first relay's row is visible.
  var mayRepeat: Bool {
    if isUnknown { return false }
    switch cause {
    case .late, .unfit, .damaged, .tooNew: return false
    case .lost: return true
    case .refused(let state):
      let passing = [
        // Serialization failure, deadlock, lock timeout, duplicate unique key.
        "40001", "40P01", "55P03", "23505",
        // A prepared statement that is missing, or was prepared for tables that have changed.
        "26000", "0A000",
      ]
      return passing.contains(state) || isGoingAway(state)
    }
  }

  /// True if the session must be ended.
  var endsSession: Bool {
    switch cause {
    case .lost, .late: true
    case .unfit, .damaged, .tooNew: false
    // The prepared statements differ from the record here: the next session has none.
    case .refused(let state): isGoingAway(state) || ["26000", "0A000", "42P05"].contains(state)
    }
  }

  /// Returns true if the server stops, has crashed, or is starting.
  private func isGoingAway(_ state: String) -> Bool {
    ["57P01", "57P02", "57P03", "57P05", "25P03"].contains(state) || state.hasPrefix("08")
  }
}
