public import LockstepModel

/// Records as the JSON of a `changes` array, encoded once and shared by all receivers: the message
/// on a socket, the event of a stream and the body of a poll wrap the same bytes.
public struct EncodedChanges: Hashable, Sendable {
  private let array: [UInt8]
  /// Number of records.
  public let count: Int
  private let lostTags: [TagGap]

  /// `lostTags`: see `ChangePage.lostTags`.
  public init(_ changes: [Record], lostTags: [TagGap] = []) {
    var writer = JSONWriter(capacity: changes.reduce(2) { $0 + $1.encodedBytes })
    writer.beginArray()
    for record in changes { writer.record(record) }
    writer.endArray()
    array = writer.finish()
    count = changes.count
    self.lostTags = lostTags
  }

  /// Size of the records alone, to be compared with `Limits.pushBytes`.
  public var bytes: Int { array.count }

  /// Returns the `changes` message; with `id`, the answer to that fetch.
  public func message(id: String?, since: ChangeToken?, token: ChangeToken, more: Bool) -> [UInt8] {
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
  public func body(since: ChangeToken?, token: ChangeToken, more: Bool) -> [UInt8] {
    var writer = JSONWriter(capacity: array.count + 160)
    writer.beginObject()
    return finish(writer, since: since, token: token, more: more)
  }

  /// Returns the `changes` event of a stream; its id is the token.
  public func event(since: ChangeToken?, token: ChangeToken, more: Bool) -> [UInt8] {
    EventStreamWriter.event(
      "changes", id: token.text, json: body(since: since, token: token, more: more))
  }

  private func finish(
    _ writer: consuming JSONWriter, since: ChangeToken?, token: ChangeToken, more: Bool
  ) -> [UInt8] {
    writer.member("since")
    writer.token(since)
    writer.member("token")
    writer.token(token)
    writer.member("more")
    writer.bool(more)
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
