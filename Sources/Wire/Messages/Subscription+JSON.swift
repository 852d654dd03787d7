import LockstepJSON
import LockstepModel

extension Subscription {
  /// Reads the body of `PUT /v1/subscriptions/{id}`.
  @usableFromInline
  package static func decoded(body: [UInt8], id: Name) throws(Refusal) -> Subscription {
    var reader = MessageReader(body.span.bytes, formCode: .badRequest)
    let kind = try reader.subscriptionKind()
    try reader.finish()
    return Subscription(id: id, kind: kind)
  }

  /// Encodes the subscription as the relay sends it.
  @usableFromInline
  package func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 256)
    writer.subscription(self)
    return writer.finish()
  }
}

/// Answer to `GET /v1/subscriptions`: `{"subscriptions":[…]}`.
@usableFromInline
package struct SubscriptionList: Hashable, Sendable {
  @usableFromInline package var subscriptions: [Subscription]

  @usableFromInline
  package init(_ subscriptions: [Subscription]) { self.subscriptions = subscriptions }

  @usableFromInline
  package func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 32 + subscriptions.count * 256)
    writer.beginObject()
    writer.member("subscriptions")
    writer.beginArray()
    for subscription in subscriptions { writer.subscription(subscription) }
    writer.endArray()
    writer.endObject()
    return writer.finish()
  }
}

extension MessageReader {
  /// Reads the kind and its members; members of other kinds are ignored.
  fileprivate mutating func subscriptionKind() throws(Refusal) -> Subscription.Kind {
    let start = scanner
    var kind: String?
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      if member == .kind { kind = try string(.kind) } else { try skip() }
    }
    switch try require(kind, .kind) {
    case "database": return .database
    case "zone":
      scanner = start
      return .zone(try subscriptionZone())
    case "query":
      scanner = start
      return .query(try subscriptionQuery())
    default: throw wrong(.kind, "\"database\", \"zone\" or \"query\"")
    }
  }

  private mutating func subscriptionZone() throws(Refusal) -> Name {
    var zone: Name?
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      if member == .zone { zone = try name(.zone) } else { try skip() }
    }
    return try require(zone, .zone)
  }

  private mutating func subscriptionQuery() throws(Refusal) -> Subscription.Query {
    var zone: Name?
    var recordType: Name?
    var conditions: [JSONMember] = []
    var events = ChangeEvents.all
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .zone: zone = try skipNull() ? nil : try name(.zone)
      case .recordType: recordType = try name(.recordType)
      case .where: conditions = try skipNull() ? [] : try self.conditions()
      case .events: events = try skipNull() ? .all : try self.events()
      default: try skip()
      }
    }
    return Subscription.Query(
      recordType: try require(recordType, .recordType), zone: zone, conditions: conditions,
      events: events)
  }

  private mutating func conditions() throws(Refusal) -> [JSONMember] {
    let expectation = "an object of at most \(Limits.subscriptionConditions) members"
    guard try isNext(.object) else { throw wrong(.where, expectation) }
    let value: JSONValue
    do { value = try scanner.value() } catch { throw invalidJSON(error) }
    guard let members = value.members, members.count <= Limits.subscriptionConditions else {
      throw wrong(.where, expectation)
    }
    return members
  }

  private mutating func events() throws(Refusal) -> ChangeEvents {
    var events: ChangeEvents = []
    let expectation = "an array of \"create\", \"update\" and \"delete\", at least one"
    guard try isNext(.array) else { throw wrong(.events, expectation) }
    try enterArray(.events)
    while try nextElement() {
      guard try isNext(.string), let event = ChangeEvents(word: try string(.events)) else {
        throw wrong(.events, expectation)
      }
      events.insert(event)
    }
    guard !events.isEmpty else { throw wrong(.events, expectation) }
    return events
  }
}

extension JSONWriter {
  fileprivate mutating func subscription(_ subscription: Subscription) {
    beginObject()
    member("id")
    string(subscription.id.text)
    member("kind")
    switch subscription.kind {
    case .database: string("database")
    case .zone(let zone):
      string("zone")
      member("zone")
      string(zone.text)
    case .query(let query): self.query(query)
    }
    endObject()
  }

  private mutating func query(_ query: Subscription.Query) {
    string("query")
    member("recordType")
    string(query.recordType.text)
    if let zone = query.zone {
      member("zone")
      string(zone.text)
    }
    if !query.conditions.isEmpty {
      member("where")
      value(.object(query.conditions))
    }
    member("events")
    beginArray()
    for (event, word) in ChangeEvents.words where query.events.contains(event) { string(word) }
    endArray()
  }
}

extension ChangeEvents {
  fileprivate static let words: [(event: ChangeEvents, word: String)] = [
    (.create, "create"), (.update, "update"), (.delete, "delete"),
  ]

  fileprivate init?(word: String) {
    guard let found = ChangeEvents.words.first(where: { $0.word == word }) else { return nil }
    self = found.event
  }
}
