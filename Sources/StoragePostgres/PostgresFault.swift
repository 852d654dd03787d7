/// Why a database did not answer as it should. `StorageError` tells it to people; this tells it to
/// the room, which repeats some of it.
struct PostgresFault: Error, Hashable {
  enum Cause: Hashable {
    /// The server said no. Five letters and digits (PostgreSQL's manual, appendix A).
    case refused(state: String)
    /// There is no connection, or there is none any more.
    case lost
    /// The connection stands, and no answer came in its time.
    case late
    /// A server or a database that this program cannot use.
    case unfit
    /// A row is not of the form that one has.
    case damaged
    /// Written by a newer version of this program.
    case tooNew(found: Int, known: Int)
  }

  var cause: Cause
  /// In the server's or libpq's words; never a value of a row, never a password.
  var message: String
  /// The statement that was refused, by its place in its pipeline.
  var step: Int?
  /// A commit was under way, and nobody knows what became of it.
  var isUnknown = false

  /// Whether the same may go well the next moment.
  ///
  /// Nothing was done yet then: a lost connection takes its transaction with it, and two relays
  /// that drew the same random id are told apart once the first one's row can be seen.
  var mayRepeat: Bool {
    if isUnknown { return false }
    switch cause {
    case .late, .unfit, .damaged, .tooNew: return false
    case .lost: return true
    case .refused(let state):
      let passing = [
        // Serialization failure, deadlock, lock timeout, a unique key that is taken.
        "40001", "40P01", "55P03", "23505",
        // A prepared statement that is gone, or was prepared for tables that changed.
        "26000", "0A000",
      ]
      return passing.contains(state) || isGoingAway(state)
    }
  }

  /// Whether the session is over.
  var endsSession: Bool {
    switch cause {
    case .lost, .late: true
    case .unfit, .damaged, .tooNew: false
    // A prepared statement that is not as we think it is: the next session has none.
    case .refused(let state): isGoingAway(state) || ["26000", "0A000", "42P05"].contains(state)
    }
  }

  /// The server stops, crashed, or starts.
  private func isGoingAway(_ state: String) -> Bool {
    ["57P01", "57P02", "57P03", "57P05", "25P03"].contains(state) || state.hasPrefix("08")
  }
}
