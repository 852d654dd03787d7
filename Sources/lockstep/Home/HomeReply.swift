import LockstepClient
import LockstepModel
import LockstepStorage
import LockstepWire

/// Reports of a home's node to its process.
enum HomeReport: Sendable {
  case failed(StorageError)
  case stopped
  /// Report of the agent for the mirror, which works beside it: results of orders, changes, and the
  /// sync status.
  case told(AgentReport)
  /// Request of a command to the mirror, which answers by `HomeOrder.answer`.
  case asked(ConnectionID, JSONValue)
  /// A command shows the data of an app.
  case shown
}

/// Orders of the mirror to a home's node.
enum HomeOrder: Sendable {
  /// Order to the agent. The mirror assigns its number: `HomeOrder.firstNumber` or above.
  case agent(AgentOrder)
  case answer(ConnectionID, HomeReply)
  /// State of the mirror, for commands that ask for it and for clients that watch.
  case stands(JSONValue)

  /// First order number of the mirror; the node numbers its own orders from 1.
  static let firstNumber: UInt64 = 1 << 63
}

/// Answer to a request: a value, or one sentence for a person.
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

/// An app's view as the process that holds the home sends it.
struct HomeView {
  let json: JSONValue
  let lines: [String]

  /// Rows for a person, one per line.
  var text: String { lines.joined(separator: "\n") }

  init(_ answer: JSONValue) {
    json = answer["view"] ?? answer
    lines = (answer["lines"]?.array ?? []).compactMap(\.string)
  }
}
