import LockstepModel
import LockstepStorage
import LockstepWire

/// A `PUT` or `DELETE` of one record: a batch of one change, whose base is named by the request's
/// headers (RFC 9110 section 13.1), or by its body or query.
struct RecordWrite {
  let mutation: Mutation
  /// Random, unless the client sent one as `Idempotency-Key`.
  let id: BatchID

  /// `named`: the version that the body or the query names. A header comes before it.
  init(
    _ mutation: Mutation, named: ReplacedVersion?, headers: HTTPHeaders, secrets: SecretSource
  ) throws(Refusal) {
    guard let base = try RecordWrite.base(headers) ?? named else {
      throw RecordWrite.baseMissing(isDelete: mutation.isDelete)
    }
    var mutation = mutation
    mutation.setReplacedVersion(base)
    self.mutation = mutation
    id =
      try RecordWrite.idempotencyKey(headers)
      ?? BatchID(randomHigh: secrets.word(), randomLow: secrets.word())
  }

  /// Returns the version that the headers name; nil if they name none.
  private static func base(_ headers: HTTPHeaders) throws(Refusal) -> ReplacedVersion? {
    let hasMatch = headers.count(of: "If-Match") > 0
    let hasException = headers.count(of: "If-None-Match") > 0
    guard !hasMatch || !hasException else {
      throw Refusal(
        .badRequest,
        "`If-Match` and `If-None-Match` exclude each other here; send one of the two.")
    }
    if hasException {
      guard headers.list("If-None-Match") == ["*"] else {
        throw Refusal(
          .badRequest,
          "`If-None-Match` must be * here, for a record that does not exist yet; to change one, "
            + "send its tag as `If-Match`.")
      }
      return .absent
    }
    guard hasMatch else { return nil }
    let matches = headers.list("If-Match")
    if matches == ["*"] { return .existing }
    // An empty field is a condition that was lost on the way, and must not become none.
    guard matches.count == 1, let tag = tag(matches[0]) else {
      throw Refusal(
        .badRequest,
        "`If-Match` must be the `ETag` of the record as it was read, in its quotes, or *.")
    }
    return .version(tag)
  }

  /// Returns the tag in an entity tag. A weak one counts too: proxies that compress answers weaken
  /// their tags, and a record's tag names its version, whatever the bytes.
  private static func tag(_ entityTag: String) -> ChangeTag? {
    let opaque = entityTag.hasPrefix("W/") ? entityTag.dropFirst(2) : entityTag[...]
    guard opaque.utf8.count > 2, opaque.first == "\"", opaque.last == "\"" else { return nil }
    let digits = opaque.dropFirst().dropLast()
    guard digits.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }),
      let tag = ChangeTag(digits), tag > 0, tag < Limits.sequenceLimit
    else { return nil }
    return tag
  }

  private static func idempotencyKey(_ headers: HTTPHeaders) throws(Refusal) -> BatchID? {
    guard let text = headers["Idempotency-Key"] else {
      guard headers.count(of: "Idempotency-Key") > 1 else { return nil }
      throw Refusal(.badRequest, "`Idempotency-Key` occurs twice; send it once.")
    }
    var key = text[...]
    if key.utf8.count > 1, key.first == "\"", key.last == "\"" {
      key = key.dropFirst().dropLast()
    }
    guard let id = BatchID(text: String(key)) else {
      throw Refusal(
        .badRequest,
        "`Idempotency-Key` must be a random UUID, such as 0b5e7c1e-3f0a-4d6c-9a52-7d0f6a1b2c3d.")
    }
    return id
  }

  private static func baseMissing(isDelete: Bool) -> Refusal {
    let general =
      "Say which version this replaces: send the `ETag` of the record as it was read as `If-Match`"
    return Refusal(
      .preconditionRequired,
      isDelete
        ? "\(general), or the query `baseTag=any` to delete any version."
        : "\(general), `If-None-Match: *` for a new record, or \"baseTag\":\"any\" in the body to "
          + "overwrite any version.")
  }
}

extension Answer {
  /// Answer to a `PUT` or `DELETE` of one record. Returns nil if the record must be read first: the
  /// request is the retry of a save that was made before.
  init?(writing outcome: SaveOutcome, isDelete: Bool) throws(Refusal) {
    switch outcome.answer.results.first {
    case .saved where isDelete: self.init(status: 204)
    case .saved:
      guard let record = outcome.changed.first else { return nil }
      self.init(record: record, ifNoneMatch: [])
      if outcome.events.first == .create { status = 201 }
    // The requested state holds already: a retry, or another device was first.
    case .conflict(_, let record) where isDelete && record.isDeleted: self.init(status: 204)
    case .conflict(_, let record): self.init(otherVersion: record)
    case .refused(_, let refusal): throw refusal
    case nil: throw StoreHealth.mismatch
    }
  }

  /// Refusal with the record as the relay has it.
  private init(otherVersion record: Record) {
    let state =
      record.isDeleted
      ? "There is no record of this name" : "The record is another version, which `record` shows"
    let refusal = Refusal(
      .preconditionFailed, "\(state); make the change on what there is, then send it again.")
    self.init(status: refusal.code.status, problem: refusal, record: record)
    if !record.isDeleted { headers.append("ETag", "\"\(record.tag)\"") }
  }
}
