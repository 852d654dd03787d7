import LockstepJSON
import LockstepModel

extension ChangePage {
  /// Encodes the body of `GET /v1/changes`.
  @usableFromInline
  package func encodedBody() -> [UInt8] {
    EncodedChanges(changes, lostTags: lostTags).body(since: since, token: token, more: more)
  }

  @usableFromInline
  package static func decoded(body: [UInt8]) throws(Refusal) -> ChangePage {
    var reader = MessageReader(body.span.bytes, formCode: .badMessage)
    let (_, page) = try reader.changePage()
    try reader.finish()
    return page
  }
}

extension MessageReader {
  /// Reads a page, and the id of the request that it answers, if there is one.
  mutating func changePage() throws(Refusal) -> (id: String?, page: ChangePage) {
    var id: String?
    var since: ChangeToken?
    var token: ChangeToken?
    var more: Bool?
    var changes: [Record]?
    var lostTags: [TagGap] = []
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .id: id = try skipNull() ? nil : try string(.id)
      case .since: since = try optionalChangeToken(.since)
      case .token: token = try changeToken(.token)
      case .more: more = try bool(.more)
      case .changes: changes = try records()
      case .lostTags: lostTags = try gaps()
      default: try skip()
      }
    }
    let page = ChangePage(
      since: since, token: try require(token, .token), more: try require(more, .more),
      changes: try require(changes, .changes), lostTags: lostTags)
    return (id, page)
  }

  private mutating func gaps() throws(Refusal) -> [TagGap] {
    var gaps: [TagGap] = []
    try enterArray(.lostTags)
    while try nextElement() {
      var tags: [ChangeTag] = []
      try enterArray(.lostTags)
      while try nextElement() { tags.append(try integer(.lostTags)) }
      guard tags.count == 2 else { throw wrong(.lostTags, "pairs of tags") }
      gaps.append(TagGap(after: tags[0], through: tags[1]))
    }
    return gaps
  }

  private mutating func records() throws(Refusal) -> [Record] {
    var records: [Record] = []
    try enterArray(.changes)
    while try nextElement() {
      position = Position(list: .changes, index: records.count)
      records.append(try record())
      position = nil
    }
    return records
  }
}

/// Records as the JSON of a `changes` array, encoded once and shared by all receivers: the message
/// on a socket, the event of a stream and the body of a poll wrap the same bytes.
@usableFromInline
package struct EncodedChanges: Hashable, Sendable {
  private let array: ArraySlice<UInt8>
  /// Number of records.
  @usableFromInline package let count: Int
  private let lostTags: [TagGap]

  /// `lostTags`: see `ChangePage.lostTags`.
  @usableFromInline
  package init(_ changes: [Record], lostTags: [TagGap] = []) {
    var writer = JSONWriter(capacity: changes.reduce(2) { $0 + $1.encodedBytes })
    writer.beginArray()
    for record in changes { writer.record(record) }
    writer.endArray()
    array = writer.finish()[...]
    count = changes.count
    self.lostTags = lostTags
  }

  /// Encodes the records within the frame of their push, and returns both: they share their bytes.
  package static func push(
    _ changes: [Record], since: ChangeToken, token: ChangeToken
  ) -> (changes: EncodedChanges, frame: [UInt8]) {
    let capacity = changes.reduce(192) { $0 + $1.encodedBytes }
    var writer = JSONWriter(capacity: capacity, headroom: WebSocketFrame.headroom)
    writer.beginObject()
    writer.member("op")
    writer.string("changes")
    writer.position(since: since, token: token, more: false)
    writer.member("changes")
    let start = writer.count
    writer.beginArray()
    for record in changes { writer.record(record) }
    writer.endArray()
    let end = writer.count
    writer.endObject()
    let count = writer.count
    let frame = WebSocketFrame.text(writer.output())
    let header = frame.count - count
    let array = frame[header + start..<header + end]
    return (EncodedChanges(array: array, count: changes.count), frame)
  }

  private init(array: ArraySlice<UInt8>, count: Int) {
    self.array = array
    self.count = count
    lostTags = []
  }

  /// Size of the records alone, to be compared with `Limits.pushBytes`.
  @usableFromInline package var bytes: Int { array.count }

  /// Returns the `changes` message; with `id`, the answer to that fetch.
  @usableFromInline
  package func message(id: String?, since: ChangeToken?, token: ChangeToken, more: Bool) -> [UInt8]
  {
    var writer = JSONWriter(capacity: array.count + (id?.utf8.count ?? 0) + 192)
    writer.beginObject()
    writer.member("op")
    writer.string("changes")
    if let id {
      writer.member("id")
      writer.string(id)
    }
    return finish(writer, since: since, token: token, more: more)
  }

  /// Returns the body of `GET /v1/changes`.
  @usableFromInline
  package func body(since: ChangeToken?, token: ChangeToken, more: Bool) -> [UInt8] {
    var writer = JSONWriter(capacity: array.count + 160)
    writer.beginObject()
    return finish(writer, since: since, token: token, more: more)
  }

  /// Returns the body of `GET /v1/zones/{zone}/records`.
  @usableFromInline
  package func list(token: ChangeToken, more: Bool) -> [UInt8] {
    var writer = JSONWriter(capacity: array.count + 128)
    writer.beginObject()
    writer.member("token")
    writer.token(token)
    writer.member("more")
    writer.bool(more)
    writer.member("records")
    writer.raw(array)
    writer.endObject()
    return writer.finish()
  }

  /// Returns the `changes` event of a stream; its id is the token.
  @usableFromInline
  package func event(since: ChangeToken?, token: ChangeToken, more: Bool) -> [UInt8] {
    EventStreamWriter.event(
      "changes", id: token.text, json: body(since: since, token: token, more: more))
  }

  private func finish(
    _ writer: consuming JSONWriter, since: ChangeToken?, token: ChangeToken, more: Bool
  ) -> [UInt8] {
    writer.position(since: since, token: token, more: more)
    writer.member("changes")
    writer.raw(array)
    if !lostTags.isEmpty {
      writer.member("lostTags")
      writer.gaps(lostTags)
    }
    writer.endObject()
    return writer.finish()
  }
}

extension JSONWriter {
  /// Writes a token; nil is null: the start of a snapshot.
  mutating func token(_ token: ChangeToken?) {
    if let token { plain { token.append(to: &$0) } } else { null() }
  }

  /// Writes a page's members before its records.
  fileprivate mutating func position(since: ChangeToken?, token: ChangeToken, more: Bool) {
    member("since")
    self.token(since)
    member("token")
    self.token(token)
    member("more")
    bool(more)
  }

  /// Writes each gap as two numbers.
  fileprivate mutating func gaps(_ gaps: [TagGap]) {
    beginArray()
    for gap in gaps {
      beginArray()
      integer(gap.after)
      integer(gap.through)
      endArray()
    }
    endArray()
  }
}
