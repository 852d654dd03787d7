import LockstepStorage

extension StorageError {
  /// Converts a database error or timeout into an error for the owner of the relay, with the next
  /// step. `path` is `PostgresAddress.shown`. Source: PostgreSQL's manual, appendix A.
  init(_ fault: PostgresFault, path: String, operation: String) {
    let message = fault.message
    if fault.isUnknown {
      self = .unavailable(
        path: path,
        detail: "the connection was lost in the middle of a commit (\(message)), and what became "
          + "of it is not known; whoever asked asks again, and is recognised")
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
        detail: "\(message); the password comes from ~/.pgpass, PGPASSFILE or PGPASSWORD, and who "
          + "may sign in from where stands in the server's pg_hba.conf")
    case "3D000":
      self = .failed(
        path: path, operation: "open", detail: "\(message); make it, as with 'createdb'")
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
