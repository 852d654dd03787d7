import LockstepJSON
import LockstepModel

/// Message from a device on the socket (docs/protocol.md, "WebSocket").
@usableFromInline
package enum DeviceMessage: Hashable, Sendable {
  case hello(token: String?, since: ChangeToken?)
  case save(SaveRequest)
  case fetch(id: String, FetchQuery)
  /// `t0` is the device's own time. It is returned unchanged, so its text is kept.
  case time(id: String, t0: JSONNumber)
}

/// Query for changes, the same in `GET /v1/changes` and in the socket's `fetch`.
@usableFromInline
package struct FetchQuery: Hashable, Sendable {
  @usableFromInline package var since: ChangeToken?
  @usableFromInline package var zone: Name?
  /// Records per page; clamped to 1…`Limits.pageRecords`.
  @usableFromInline package var limit: Int
  /// Long-poll: time for which the request is held until there are changes. 0: answer at once.
  @usableFromInline package var waitMilliseconds: Int64

  @usableFromInline
  package init(
    since: ChangeToken? = nil, zone: Name? = nil, limit: Int = Limits.pageRecords,
    waitMilliseconds: Int64 = 0
  ) {
    self.since = since
    self.zone = zone
    self.limit = limit
    self.waitMilliseconds = waitMilliseconds
  }
}

extension DeviceMessage {
  /// Reads the JSON text of one message. Throws a fault of the whole message; a fault of one record
  /// of a save is stored in its mutation.
  @usableFromInline
  package static func decode(_ bytes: [UInt8]) throws(Refusal) -> DeviceMessage {
    var reader = MessageReader(bytes.span.bytes, formCode: .badMessage)
    let message: DeviceMessage
    switch try reader.operation() {
    case "hello": message = try reader.hello()
    case "save": message = .save(try reader.saveRequest(zone: nil))
    case "fetch": message = try reader.fetch()
    case "time": message = try reader.timeRequest()
    default: throw reader.wrong(.op, "one of hello, save, fetch and time")
    }
    try reader.finish()
    return message
  }

  /// Returns the `id` of a message that could not be decoded, so that its refusal can name it; nil
  /// if it has no readable id.
  @usableFromInline
  package static func requestID(in bytes: [UInt8]) -> String? {
    var reader = MessageReader(bytes.span.bytes, formCode: .badMessage)
    var seen = MemberSet()
    do {
      try reader.enterObject()
      while let member = try reader.nextMember(&seen) {
        if member == .id { return try reader.requestID() }
        try reader.skip()
      }
    } catch { return nil }
    return nil
  }

  /// Returns the JSON text of the message.
  @usableFromInline
  package func encoded() -> [UInt8] {
    var writer = JSONWriter(capacity: encodedBytes)
    writer.beginObject()
    writer.member("op")
    switch self {
    case .hello(let token, let since):
      writer.string("hello")
      writer.optional("token", token)
      writer.optional("since", since?.text)
    case .save(let request):
      writer.string("save")
      writer.member("zone")
      writer.string(request.zone.text)
      writer.batch(request)
    case .fetch(let id, let query):
      writer.string("fetch")
      writer.member("id")
      writer.string(id)
      writer.optional("since", query.since?.text)
      writer.optional("zone", query.zone?.text)
      if query.limit != Limits.pageRecords {
        writer.member("limit")
        writer.integer(Int64(query.limit))
      }
    case .time(let id, let t0):
      writer.string("time")
      writer.member("id")
      writer.string(id)
      writer.member("t0")
      writer.raw(Array(t0.text.utf8))
    }
    writer.endObject()
    return writer.finish()
  }

  private var encodedBytes: Int {
    guard case .save(let request) = self else { return 512 }
    return request.encodedBytes
  }
}

extension MessageReader {
  fileprivate mutating func hello() throws(Refusal) -> DeviceMessage {
    var token: String?
    var since: ChangeToken?
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .token: token = try skipNull() ? nil : try string(.token)
      case .since: since = try optionalChangeToken(.since)
      default: try skip()
      }
    }
    return .hello(token: token, since: since)
  }

  fileprivate mutating func fetch() throws(Refusal) -> DeviceMessage {
    var id: String?
    var query = FetchQuery()
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .id: id = try requestID()
      case .since: query.since = try optionalChangeToken(.since)
      case .zone: query.zone = try skipNull() ? nil : try name(.zone)
      case .limit: if try !skipNull() { query.limit = try limit() }
      default: try skip()
      }
    }
    return .fetch(id: try require(id, .id), query)
  }

  fileprivate mutating func timeRequest() throws(Refusal) -> DeviceMessage {
    var id: String?
    var t0: JSONNumber?
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .id: id = try requestID()
      case .t0: t0 = try number(.t0)
      default: try skip()
      }
    }
    return .time(id: try require(id, .id), t0: try require(t0, .t0))
  }

  /// Reads an id that a client chose for its own request.
  mutating func requestID() throws(Refusal) -> String {
    try string(.id, bytes: 1...Limits.requestIDBytes)
  }

  private mutating func limit() throws(Refusal) -> Int {
    let wanted = try integer(.limit, 1..<Limits.sequenceLimit, of: "records")
    return Int(min(wanted, Int64(Limits.pageRecords)))
  }
}

extension JSONWriter {
  /// Writes a member unless its value is nil.
  mutating func optional(_ member: StaticString, _ value: String?) {
    guard let value else { return }
    self.member(member)
    string(value)
  }
}
