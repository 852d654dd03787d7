import LockstepJSON
import LockstepModel

extension SaveRequest {
  /// Reads the body of `POST /v1/zones/{zone}/records`. Throws a fault of the whole batch; a fault
  /// of one record is stored in its mutation.
  @usableFromInline
  package static func decoded(body: [UInt8], zone: Name) throws(Refusal) -> SaveRequest {
    var reader = MessageReader(body.span.bytes, formCode: .badRequest)
    let request = try reader.saveRequest(zone: zone)
    try reader.finish()
    return request
  }

  @usableFromInline
  package func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: encodedBytes)
    writer.beginObject()
    writer.batch(self)
    writer.endObject()
    return writer.finish()
  }

  /// Approximate size as JSON, in bytes.
  var encodedBytes: Int {
    mutations.reduce(zone.text.utf8.count + 128) { $0 + $1.encodedBytes }
  }
}

extension MessageReader {
  /// Reads a batch; its zone is `path` over HTTP, and a member of the message on the socket.
  mutating func saveRequest(zone path: Name?) throws(Refusal) -> SaveRequest {
    var id: BatchID?
    var zone = path
    var atomic = false
    var timed = false
    var mutations: [Mutation]?
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .id: id = try batchID(.id)
      case .zone where path == nil: zone = try name(.zone)
      case .atomic: atomic = try skipNull() ? false : try bool(.atomic)
      case .timed: timed = try skipNull() ? false : try bool(.timed)
      case .records: mutations = try self.mutations()
      default: try skip()
      }
    }
    return SaveRequest(
      id: try require(id, .id), zone: try require(zone, .zone), atomic: atomic, timed: timed,
      mutations: try require(mutations, .records))
  }
}

extension JSONWriter {
  /// Writes a batch's members without its zone.
  mutating func batch(_ request: SaveRequest) {
    member("id")
    plain { request.id.append(to: &$0) }
    if request.atomic {
      member("atomic")
      bool(true)
    }
    if request.timed {
      member("timed")
      bool(true)
    }
    mutations(request.mutations)
  }
}

extension SaveAnswer {
  /// Encodes the body that answers `POST /v1/zones/{zone}/records`, with 200 or, for an atomic
  /// batch that failed, with 409.
  @usableFromInline
  package func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: encodedBytes)
    writer.beginObject()
    writer.answer(self)
    writer.endObject()
    return writer.finish()
  }

  @usableFromInline
  package static func decoded(body: [UInt8]) throws(Refusal) -> SaveAnswer {
    var reader = MessageReader(body.span.bytes, formCode: .badMessage)
    let (_, answer) = try reader.saveAnswer()
    try reader.finish()
    return answer
  }

  /// Approximate size as JSON, in bytes.
  var encodedBytes: Int {
    results.reduce(192) { bytes, result in
      switch result {
      case .saved(let name, _): bytes + name.text.utf8.count + 40
      case .conflict(let name, let record): bytes + name.text.utf8.count + record.encodedBytes + 32
      case .refused(let name, let refusal):
        bytes + name.text.utf8.count + refusal.detail.utf8.count + 224
      }
    }
  }
}

extension MessageReader {
  /// Reads the answer to a batch, and the batch's id if the message contains it.
  mutating func saveAnswer() throws(Refusal) -> (id: BatchID?, answer: SaveAnswer) {
    var id: BatchID?
    var since: ChangeToken?
    var token: ChangeToken?
    var results: [MutationResult]?
    var timing: SaveTiming?
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .id: id = try batchID(.id)
      case .since: since = try changeToken(.since)
      case .token: token = try changeToken(.token)
      case .results: results = try self.results()
      case .timing: timing = try self.timing()
      default: try skip()
      }
    }
    let answer = SaveAnswer(
      since: try require(since, .since), token: try require(token, .token),
      results: try require(results, .results), timing: timing)
    return (id, answer)
  }

  private mutating func timing() throws(Refusal) -> SaveTiming {
    var received: Int64?
    var durable: Int64?
    var pushed: Int64?
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .received: received = try microseconds(.received)
      case .durable: durable = try microseconds(.durable)
      case .pushed: pushed = try microseconds(.pushed)
      default: try skip()
      }
    }
    return SaveTiming(
      received: try require(received, .received), durable: try require(durable, .durable),
      pushed: try require(pushed, .pushed))
  }

  /// Reads milliseconds since the Unix epoch with three decimals, in relay time. Returns
  /// microseconds.
  private mutating func microseconds(_ member: Member) throws(Refusal) -> Int64 {
    guard let value = try number(member).thousandths, value >= 0 else {
      throw wrong(member, "a number of milliseconds since 1970, without an exponent")
    }
    return value
  }

  private mutating func results() throws(Refusal) -> [MutationResult] {
    var results: [MutationResult] = []
    try enterArray(.results)
    while try nextElement() {
      position = Position(list: .results, index: results.count)
      results.append(try result())
      position = nil
    }
    return results
  }

  private mutating func result() throws(Refusal) -> MutationResult {
    var name: Name?
    var tag: ChangeTag?
    var record: Record?
    var refusal: Refusal?
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .name: name = try self.name(.name)
      case .tag: tag = try integer(.tag)
      case .conflict: record = try self.record()
      case .error: refusal = try problem(status: nil)
      default: try skip()
      }
    }
    let known = try require(name, .name)
    switch (tag, record, refusal) {
    case (let tag?, nil, nil): return .saved(name: known, tag: tag)
    case (nil, let record?, nil): return .conflict(name: known, record: record)
    case (nil, nil, let refusal?): return .refused(name: known, refusal)
    default: throw fault("must have one of `tag`, `conflict` and `error`.")
    }
  }
}

extension JSONWriter {
  /// Writes an answer's members.
  mutating func answer(_ answer: SaveAnswer) {
    member("since")
    token(answer.since)
    member("token")
    token(answer.token)
    member("results")
    beginArray()
    for result in answer.results { self.result(result) }
    endArray()
    if let timing = answer.timing { self.timing(timing) }
  }

  private mutating func timing(_ timing: SaveTiming) {
    member("timing")
    beginObject()
    member("received")
    milliseconds(timing.received)
    member("durable")
    milliseconds(timing.durable)
    member("pushed")
    milliseconds(timing.pushed)
    endObject()
  }

  private mutating func milliseconds(_ microseconds: Int64) {
    raw(Array(JSONNumber(thousandths: microseconds).text.utf8))
  }

  private mutating func result(_ result: MutationResult) {
    beginObject()
    member("name")
    switch result {
    case .saved(let name, let tag):
      string(name.text)
      self.member("tag")
      integer(tag)
    case .conflict(let name, let record):
      string(name.text)
      self.member("conflict")
      self.record(record)
    case .refused(let name, let refusal):
      string(name.text)
      self.member("error")
      problem(refusal)
    }
    endObject()
  }
}

extension MessageReader {
  /// Reads the `records` of a save. A fault of the batch is thrown; a fault of one record becomes
  /// that mutation's `refusal`.
  mutating func mutations() throws(Refusal) -> [Mutation] {
    var mutations: [Mutation] = []
    var chunks = 0
    try enterArray(.records)
    while try nextElement() {
      guard mutations.count < Limits.batchRecords else {
        throw Refusal(
          .tooManyRecords,
          "A batch holds at most \(Limits.batchRecords) records; send the rest in another batch.")
      }
      position = Position(list: .records, index: mutations.count)
      let mutation = try mutation()
      position = nil
      chunks += mutation.chunks.count
      guard chunks <= Limits.chunksPerBatch else {
        throw Refusal(
          .tooManyRecords,
          "The records of a batch name at most \(Limits.chunksPerBatch) chunks together; send the "
            + "rest in another batch.")
      }
      mutations.append(mutation)
    }
    try refuseRepeatedName(in: mutations)
    return mutations
  }

  private func refuseRepeatedName(in mutations: [Mutation]) throws(Refusal) {
    guard mutations.count > 1 else { return }
    var names = Set<Name>(minimumCapacity: mutations.count)
    for mutation in mutations where !names.insert(mutation.name).inserted {
      throw Refusal(
        .badRequest,
        "The record \"\(mutation.name)\" occurs twice in the batch; send each record once.")
    }
  }

  private mutating func mutation() throws(Refusal) -> Mutation {
    let members = try mutationMembers()
    let name = try require(members.name, .name)
    // A deletion overwrites no content, and devices delete without a base.
    let base = members.base ?? (members.isDeleted ? .any : .absent)
    return try mutation(members, named: name, on: base)
  }

  /// Reads the body of a `PUT` of one record: the mutation, and the version that the body names.
  mutating func recordBody(name: Name) throws(Refusal) -> (Mutation, ReplacedVersion?) {
    let members = try mutationMembers()
    guard !members.isDeleted else {
      throw fault("A body with \"deleted\":true saves nothing; send DELETE to delete the record.")
    }
    return (try mutation(members, named: name, on: .absent), members.base)
  }

  private mutating func mutationMembers() throws(Refusal) -> MutationMembers {
    var members = MutationMembers()
    var tag: ChangeTag?
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .name: members.name = try name(.name)
      case .type: members.type = try name(.type)
      case .fields:
        members.isFieldsNull = try skipNull()
        if !members.isFieldsNull { members.fields = try unambiguousObjectBytes(.fields) }
      case .deleted: members.isDeleted = try bool(.deleted)
      case .modifiedAt: members.modifiedAt = try skipNull() ? nil : try instant(.modifiedAt)
      case .baseTag: members.base = try skipNull() ? nil : try replacedVersion(.baseTag)
      case .tag: tag = try skipNull() ? nil : try integer(.tag)
      case .unlessDeleted: members.unlessDeleted = try bool(.unlessDeleted)
      case .includes: members.includes = try fingerprints(.includes)
      case .chunks: members.chunks = try chunkHashes(.chunks, atMost: Limits.chunksPerRecord)
      default: try skip()
      }
    }
    // A record that is sent back as it was read was changed on the version that was read.
    if members.base == nil { members.base = tag.map { ReplacedVersion(tag: $0) } }
    return members
  }

  private mutating func replacedVersion(_ member: Member) throws(Refusal) -> ReplacedVersion {
    guard try isNext(.string) else { return ReplacedVersion(tag: try integer(member)) }
    guard try string(member) == "any" else {
      throw wrong(member, "the tag of a version, 0 for a new record, or \"any\" for any version")
    }
    return .any
  }

  private func mutation(
    _ members: MutationMembers, named name: Name, on base: ReplacedVersion
  ) throws(Refusal) -> Mutation {
    if members.isDeleted {
      guard members.fields == nil else {
        throw fault("has both `fields` and `deleted`; send one of the two.")
      }
      guard members.chunks.isEmpty else {
        throw fault("has both `chunks` and `deleted`; send one of the two.")
      }
    } else {
      guard !members.isFieldsNull else {
        throw wrong(.fields, "a JSON object; to delete a record send \"deleted\":true")
      }
      _ = try require(members.fields, .fields)
      _ = try require(members.type, .type)
    }
    var mutation = Mutation(
      name: name, type: members.type, fields: members.fields, modifiedAt: members.modifiedAt ?? 0,
      baseTag: nil, unlessDeleted: members.unlessDeleted, includes: members.includes,
      chunks: members.chunks, refusal: refusal(fields: members.fields),
      isStampedByRelay: members.modifiedAt == nil)
    mutation.setReplacedVersion(base)
    return mutation
  }

  private func refusal(fields: [UInt8]?) -> Refusal? {
    if let fields, fields.count > Limits.recordBytes {
      return Refusal(
        .recordTooLarge,
        "`fields` has \(fields.count) bytes, more than the limit of \(Limits.recordBytes); "
          + "split the record.")
    }
    return nil
  }
}

extension JSONWriter {
  mutating func mutations(_ mutations: [Mutation]) {
    member("records")
    beginArray()
    for mutation in mutations { self.mutation(mutation) }
    endArray()
  }

  private mutating func mutation(_ mutation: Mutation) {
    beginObject()
    member("name")
    string(mutation.name.text)
    if let type = mutation.type {
      member("type")
      string(type.text)
    }
    if let fields = mutation.fields {
      member("fields")
      raw(fields)
    } else {
      member("deleted")
      bool(true)
    }
    if !mutation.isStampedByRelay {
      member("modifiedAt")
      integer(mutation.modifiedAt)
    }
    if let baseTag = mutation.baseTag {
      member("baseTag")
      integer(baseTag)
    } else if !mutation.isDelete {
      member("baseTag")
      string("any")
    }
    if mutation.unlessDeleted {
      member("unlessDeleted")
      bool(true)
    }
    fingerprints(mutation.includes)
    chunkHashes(mutation.chunks)
    endObject()
  }
}

/// Members of a mutation, as they are read.
private struct MutationMembers {
  var name: Name?
  var type: Name?
  var fields: [UInt8]?
  var isFieldsNull = false
  var isDeleted = false
  var modifiedAt: Int64?
  var base: ReplacedVersion?
  var unlessDeleted = false
  var includes: [VersionFingerprint] = []
  var chunks: [ChunkHash] = []
}

extension Mutation {
  /// Approximate size as JSON, in bytes.
  var encodedBytes: Int {
    (fields?.count ?? 0) + name.text.utf8.count + (type?.text.utf8.count ?? 0) + 120
      + chunks.count * 67 + includes.count * 19
  }
}
