import Changes
import Storage

/// What the holder of a home tells the command that started it.
enum HomeReport: Sendable {
  case failed(StorageError)
  case stopped
}

/// The answer to a request: a value, or one sentence for a person.
enum HomeReply: Equatable {
  case success(JSONValue)
  case failure(String)

  init?(_ line: JSONValue) {
    if let value = line["answer"] {
      self = .success(value)
    } else if let reason = line["error"]?.string {
      self = .failure(reason)
    } else {
      return nil
    }
  }

  var line: JSONValue {
    switch self {
    case .success(let value): .object([JSONMember("answer", value)])
    case .failure(let reason): .object([JSONMember("error", .string(reason))])
    }
  }
}
