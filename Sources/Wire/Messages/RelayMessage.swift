import LockstepJSON
import LockstepModel

/// Message from the relay on the socket (docs/protocol.md, "WebSocket").
@usableFromInline
package enum RelayMessage: Hashable, Sendable {
  case welcome(
    account: AccountID, device: DeviceID, token: ChangeToken, time: Int64,
    keepAliveMilliseconds: Int64)
  case saved(id: BatchID, SaveAnswer)
  /// With `id`, the answer to a fetch; without, a push or missed changes.
  case changes(id: String?, ChangePage)
  /// A hint: there are newer changes.
  case changed(token: ChangeToken)
  case time(id: String, t0: JSONNumber, t1: Int64, t2: Int64)
  case error(id: String?, Refusal)
  /// Reconnect rule if the connection ends without notice: at a random time within this span.
  case reconnect(withinMilliseconds: Int64)
  /// A message of a newer relay that this program does not know: a device ignores it.
  case unknown(op: String)
}

extension RelayMessage {
  /// Reads the JSON text of one message. Unknown members and messages of a newer relay are ignored.
  /// Throws if the message is malformed.
  @usableFromInline
  package static func decode(_ bytes: [UInt8]) throws(Refusal) -> RelayMessage {
    var reader = MessageReader(bytes.span.bytes, formCode: .badMessage)
    let message: RelayMessage
    switch try reader.operation() {
    case "welcome": message = try reader.welcome()
    case "saved":
      let (id, answer) = try reader.saveAnswer()
      message = .saved(id: try reader.require(id, .id), answer)
    case "changes":
      let (id, page) = try reader.changePage()
      message = .changes(id: id, page)
    case "changed": message = .changed(token: try reader.hintedToken())
    case "time": message = try reader.timeAnswer()
    case "error": message = try reader.errorMessage()
    case "reconnect": message = try reader.reconnectMessage()
    case let unknown:
      try reader.skip()
      message = .unknown(op: unknown)
    }
    try reader.finish()
    return message
  }

  /// Returns the JSON text of the message.
  @usableFromInline
  package func encoded() -> [UInt8] {
    if case .changes(let id, let page) = self {
      return EncodedChanges(page.changes, lostTags: page.lostTags)
        .message(id: id, since: page.since, token: page.token, more: page.more)
    }
    return written(headroom: 0).finish()
  }

  /// Returns the message as a frame.
  @usableFromInline
  package func encodedFrame() -> [UInt8] {
    if case .changes = self { return WebSocketFrame.text(encoded()) }
    return WebSocketFrame.text(written(headroom: WebSocketFrame.headroom))
  }

  private func written(headroom: Int) -> OutputBytes {
    var writer = JSONWriter(capacity: encodedBytes, headroom: headroom)
    writer.beginObject()
    writer.member("op")
    writer.string(op)
    writer.members(of: self)
    writer.endObject()
    return writer.output()
  }

  private var op: String {
    switch self {
    case .welcome: "welcome"
    case .saved: "saved"
    case .changes: "changes"
    case .changed: "changed"
    case .time: "time"
    case .error: "error"
    case .reconnect: "reconnect"
    case .unknown(let op): op
    }
  }

  private var encodedBytes: Int {
    guard case .saved(_, let answer) = self else { return 512 }
    return answer.encodedBytes + 64
  }
}

extension JSONWriter {
  fileprivate mutating func members(of message: RelayMessage) {
    switch message {
    case .welcome(let account, let device, let token, let time, let keepAlive):
      member("accountID")
      plain { account.append(to: &$0) }
      member("deviceID")
      plain { device.append(to: &$0) }
      member("token")
      self.token(token)
      member("time")
      integer(time)
      member("keepAlive")
      integer(keepAlive)
    case .saved(let id, let answer):
      member("id")
      plain { id.append(to: &$0) }
      self.answer(answer)
    case .changed(let token):
      member("token")
      self.token(token)
    case .time(let id, let t0, let t1, let t2):
      member("id")
      string(id)
      member("t0")
      raw(Array(t0.text.utf8))
      member("t1")
      integer(t1)
      member("t2")
      integer(t2)
    case .error(let id, let refusal):
      optional("id", id)
      refusalMembers(refusal)
    case .reconnect(let within):
      member("within")
      integer(within)
    case .changes, .unknown: break
    }
  }
}

extension MessageReader {
  fileprivate mutating func welcome() throws(Refusal) -> RelayMessage {
    var account: AccountID?
    var device: DeviceID?
    var token: ChangeToken?
    var time: Int64?
    var keepAlive: Int64?
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .accountID: account = try accountID(.accountID)
      case .deviceID: device = try deviceID(.deviceID)
      case .token: token = try changeToken(.token)
      case .time: time = try instant(.time)
      case .keepAlive: keepAlive = try integer(.keepAlive, of: "milliseconds")
      default: try skip()
      }
    }
    return .welcome(
      account: try require(account, .accountID), device: try require(device, .deviceID),
      token: try require(token, .token), time: try require(time, .time),
      keepAliveMilliseconds: try require(keepAlive, .keepAlive))
  }

  /// Reads the token of a hint.
  mutating func hintedToken() throws(Refusal) -> ChangeToken {
    var token: ChangeToken?
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      if member == .token { token = try changeToken(.token) } else { try skip() }
    }
    return try require(token, .token)
  }

  fileprivate mutating func timeAnswer() throws(Refusal) -> RelayMessage {
    var id: String?
    var t0: JSONNumber?
    var t1: Int64?
    var t2: Int64?
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .id: id = try string(.id)
      case .t0: t0 = try number(.t0)
      case .t1: t1 = try instant(.t1)
      case .t2: t2 = try instant(.t2)
      default: try skip()
      }
    }
    return .time(
      id: try require(id, .id), t0: try require(t0, .t0), t1: try require(t1, .t1),
      t2: try require(t2, .t2))
  }

  fileprivate mutating func reconnectMessage() throws(Refusal) -> RelayMessage {
    var within: Int64?
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      if member == .within {
        within = try integer(.within, of: "milliseconds")
      } else {
        try skip()
      }
    }
    return .reconnect(withinMilliseconds: try require(within, .within))
  }

  fileprivate mutating func errorMessage() throws(Refusal) -> RelayMessage {
    let start = scanner
    var id: String?
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      if member == .id, try !skipNull() { id = try string(.id) } else { try skip() }
    }
    scanner = start
    return .error(id: id, try problem(status: nil))
  }
}

/// Event from the relay on a stream (docs/protocol.md, "Events").
@usableFromInline
package enum RelayEvent: Hashable, Sendable {
  /// Missed changes, or a push; the event's id is the page's token.
  case changes(ChangePage)
  /// A hint: there are newer changes.
  case changed(token: ChangeToken)
  /// The stream ends.
  case error(Refusal)
  /// An event of a newer relay that this program does not know: a device ignores it.
  case unknown(name: String)
}

extension RelayEvent {
  /// Reads one event of a stream. Throws if it is malformed.
  package static func decode(_ event: ServerSentEvent) throws(Refusal) -> RelayEvent {
    var reader = MessageReader(event.data.span.bytes, formCode: .badMessage)
    let decoded: RelayEvent
    switch event.name {
    case "changes": decoded = .changes(try reader.changePage().page)
    case "changed": decoded = .changed(token: try reader.hintedToken())
    case "error": decoded = .error(try reader.problem(status: nil))
    case let unknown: return .unknown(name: unknown)
    }
    try reader.finish()
    return decoded
  }

  /// Encodes a hint. It has no id: a client that reconnects starts before it.
  package static func encodedHint(_ token: ChangeToken) -> [UInt8] {
    var writer = JSONWriter(capacity: 128)
    writer.beginObject()
    writer.member("token")
    writer.token(token)
    writer.endObject()
    return EventStreamWriter.event("changed", json: writer.finish())
  }

  /// Encodes a stream's last event. `retryMilliseconds`: delay before a client may reconnect.
  package static func encodedError(_ refusal: Refusal, retryMilliseconds: Int64?) -> [UInt8] {
    EventStreamWriter.event(
      "error", retryMilliseconds: retryMilliseconds, json: refusal.encodedProblem())
  }
}
