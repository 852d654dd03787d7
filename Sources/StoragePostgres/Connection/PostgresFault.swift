import LockstepStorage

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

extension StorageError {
  /// Converts a database error or timeout into an error for the owner of the relay, with the next
  /// step. `path` is `PostgresAddress.shown`. Source: PostgreSQL's manual, appendix A.
  init(_ fault: PostgresFault, path: String, operation: String) {
    let message = fault.message
    if fault.isUnknown {
      self = .unavailable(
        path: path,
        detail: "the connection was lost during a commit (\(message)), and its outcome is unknown; "
          + "the client retries, and the retry is recognised")
      return
    }
    switch fault.cause {
    case .refused(let state):
      self = StorageError(state: state, message, path: path, operation: operation)
    case .lost, .late: self = .unavailable(path: path, detail: message)
    case .unfit: self = .failed(path: path, operation: "open", detail: message)
    case .damaged: self = .corrupt(path: path, detail: message)
    case .tooNew(let found, let known): self = .tooNew(path: path, found: found, known: known)
    }
  }

  private init(state: String, _ message: String, path: String, operation: String) {
    switch state {
    case "53100": self = .diskFull(path: path)
    case "25006": self = .readOnly(path: path)
    case "28P01", "28000":
      self = .failed(
        path: path, operation: "sign in",
        detail: "\(message); the password comes from ~/.pgpass, PGPASSFILE or PGPASSWORD, and the "
          + "server's pg_hba.conf lists the users and addresses that may sign in")
    case "3D000":
      self = .failed(
        path: path, operation: "open", detail: "\(message); create it, for example with 'createdb'")
    case "42501", "3F000":
      self = .failed(
        path: path, operation: operation,
        detail: "\(message); the relay's user needs CREATE and USAGE of the schema, and owns its "
          + "tables")
    case "53300", "53000", "53200":
      self = .unavailable(
        path: path,
        detail: "\(message); close other connections, or raise the server's max_connections")
    case "57014":
      self = .failed(
        path: path, operation: operation,
        detail: "\(message); the server is overloaded, or its tables were never analyzed")
    case "XX001", "XX002": self = .corrupt(path: path, detail: message)
    case let state where state.hasPrefix("57P") || state.hasPrefix("08"):
      self = .unavailable(path: path, detail: message)
    default: self = .failed(path: path, operation: operation, detail: "\(message) (\(state))")
    }
  }
}
