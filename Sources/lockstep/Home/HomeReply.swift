import LockstepClient
import LockstepModel
import LockstepStorage
import LockstepWire

/// What the holder of a home tells the process that it is in.
enum HomeReport: Sendable {
  case failed(StorageError)
  case stopped
  /// For the mirror, which works beside the agent: what the agent says of its orders, of changes,
  /// and of where sync stands.
  case told(AgentReport)
  /// A command asks something of the mirror, which answers by `HomeOrder.answer`.
  case asked(ConnectionID, JSONValue)
  /// A command shows what an app has.
  case shown
}

/// What the mirror asks of the holder of a home.
enum HomeOrder: Sendable {
  /// An order to the agent. Its number is the mirror's own: `HomeOrder.firstNumber` or above.
  case agent(AgentOrder)
  case answer(ConnectionID, HomeReply)
  /// Where the mirror stands: told to whoever asks, at once, and to those who watch.
  case stands(JSONValue)

  /// The holder numbers its own orders from 1.
  static let firstNumber: UInt64 = 1 << 63
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
