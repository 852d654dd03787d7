import LockstepJSON
import LockstepModel

/// A client's session with a NATS server, without its socket: what arrives goes in, what is to be
/// sent comes out.
///
///     INFO ← · [TLS] · CONNECT SUB … PING → · PONG ← : open · PUB → · MSG ← · PING ← PONG →
///
/// The server handles a client's operations in order, so with its PONG it knows the subscriptions.
package struct NATSSession: Sendable {
  package enum Stage: Hashable, Sendable {
    /// Waits for INFO. → awaitsTLS, awaitsPong
    case awaitsInfo
    /// The caller begins TLS, and calls `didSecure`. → awaitsPong
    case awaitsTLS
    /// → open
    case awaitsPong
    case open
  }

  package struct Message: Hashable, Sendable {
    package var subject: String
    package var payload: [UInt8]

    package init(subject: String, payload: [UInt8]) {
      self.subject = subject
      self.payload = payload
    }
  }

  /// Name and secret of the client; none for a server that needs none.
  package struct Login: Hashable, Sendable {
    /// Empty: the secret is a token.
    package var user: String
    package var secret: String

    package init(user: String, secret: String) {
      self.user = user
      self.secret = secret
    }
  }

  package private(set) var stage = Stage.awaitsInfo
  /// The server's last facts about itself.
  package private(set) var info: NATSServerInfo?
  private let login: Login?
  private let subjects: [String]
  private let usesTLS: Bool
  private var parser = NATSParser()
  private var output: [UInt8] = []

  /// `subjects`: those to subscribe to. `usesTLS`: the connection must be encrypted, even if the
  /// server does not ask for it.
  package init(login: Login?, subjects: [String], usesTLS: Bool) {
    self.login = login
    self.subjects = subjects
    self.usesTLS = usesTLS
  }

  /// Handles received bytes; returns the messages among them.
  package mutating func receive(_ bytes: [UInt8]) throws(NATSFault) -> [Message] {
    parser.append(bytes)
    var messages: [Message] = []
    while let operation = try parser.next() {
      switch operation {
      case .info(let info): handle(info)
      case .message(let subject, _, let payload):
        messages.append(Message(subject: subject, payload: payload))
      case .ping: output += NATSSession.pong
      case .pong: if stage == .awaitsPong { stage = .open }
      case .ok: break
      case .error(let text): throw .refused(text)
      }
    }
    return messages
  }

  /// Continues over the encrypted connection.
  package mutating func didSecure() {
    guard stage == .awaitsTLS else { return }
    connect()
  }

  /// Adds a message to what is to be sent.
  package mutating func publish(_ payload: [UInt8], to subject: String) {
    output += Array("PUB \(subject) \(payload.count)\r\n".utf8)
    output += payload
    output += NATSSession.lineEnd
  }

  /// Takes the bytes to be sent.
  package mutating func takeOutput() -> [UInt8] {
    defer { output = [] }
    return output
  }

  /// A server also sends INFO later, when its cluster changes.
  private mutating func handle(_ info: NATSServerInfo) {
    self.info = info
    guard stage == .awaitsInfo else { return }
    if usesTLS || info.requiresTLS {
      stage = .awaitsTLS
    } else {
      connect()
    }
  }

  private mutating func connect() {
    var members: [JSONMember] = [
      JSONMember("verbose", false), JSONMember("pedantic", false),
      JSONMember("tls_required", .bool(usesTLS)), JSONMember("name", "lockstep relay"),
      JSONMember("lang", "swift"), JSONMember("version", "1"), JSONMember("protocol", 1),
      JSONMember("echo", true), JSONMember("headers", false),
    ]
    if let login {
      if login.user.isEmpty {
        members.append(JSONMember("auth_token", .string(login.secret)))
      } else {
        members.append(JSONMember("user", .string(login.user)))
        members.append(JSONMember("pass", .string(login.secret)))
      }
    }
    output += Array("CONNECT ".utf8) + JSONValue.object(members).serialized()
    output += NATSSession.lineEnd
    for (index, subject) in subjects.enumerated() {
      output += Array("SUB \(subject) \(index + 1)\r\n".utf8)
    }
    output += Array("PING\r\n".utf8)
    stage = .awaitsPong
  }

  private static let pong = Array("PONG\r\n".utf8)
  private static let lineEnd = Array("\r\n".utf8)
}
