public import LockstepModel

/// Answer to `GET /v1/zones`: `{"zones":[{"zone"}],"more"}`.
public struct ZoneList: Hashable, Sendable {
  /// In the order of their names' bytes.
  public var zones: [Name]
  /// True if there are further zones after the last.
  public var more: Bool

  public init(_ zones: [Name], more: Bool) {
    self.zones = zones
    self.more = more
  }

  public func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 32 + zones.reduce(0) { $0 + $1.text.utf8.count + 12 })
    writer.beginObject()
    writer.member("zones")
    writer.beginArray()
    for zone in zones {
      writer.beginObject()
      writer.member("zone")
      writer.string(zone.text)
      writer.endObject()
    }
    writer.endArray()
    writer.member("more")
    writer.bool(more)
    writer.endObject()
    return writer.finish()
  }
}

/// Answer to `GET /v1/time`.
public struct TimeAnswer: Hashable, Sendable {
  /// Relay time, milliseconds since the Unix epoch.
  public var time: Int64

  public init(time: Int64) { self.time = time }

  public func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 32)
    writer.beginObject()
    writer.member("time")
    writer.integer(time)
    writer.endObject()
    return writer.finish()
  }

  public static func decoded(body: [UInt8]) throws(Refusal) -> TimeAnswer {
    var reader = MessageReader(body.span.bytes, formCode: .badMessage)
    var time: Int64?
    var seen = MemberSet()
    try reader.enterObject()
    while let member = try reader.nextMember(&seen) {
      if member == .time { time = try reader.instant(.time) } else { try reader.skip() }
    }
    try reader.finish()
    return TimeAnswer(time: try reader.require(time, .time))
  }
}
