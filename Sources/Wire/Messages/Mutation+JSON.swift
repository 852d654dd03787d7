import LockstepModel

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
      place = Place(list: .records, index: mutations.count)
      let mutation = try mutation()
      place = nil
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
        "The record \"\(mutation.name)\" stands twice in the batch; send each record once.")
    }
  }

  private mutating func mutation() throws(Refusal) -> Mutation {
    var name: Name?
    var type: Name?
    var fields: [UInt8]?
    var isFieldsNull = false
    var isDeleted = false
    var modifiedAt: Int64?
    var baseTag: ChangeTag?
    var chunks: [ChunkHash] = []
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .name: name = try self.name(.name)
      case .type: type = try self.name(.type)
      case .fields:
        isFieldsNull = try takeNull()
        if !isFieldsNull { fields = try objectBytes(.fields) }
      case .deleted: isDeleted = try bool(.deleted)
      case .modifiedAt: modifiedAt = try instant(.modifiedAt)
      case .baseTag: baseTag = try integer(.baseTag)
      case .chunks: chunks = try chunkHashes(.chunks, atMost: Limits.chunksPerRecord)
      default: try skip()
      }
    }
    if isDeleted {
      guard fields == nil else {
        throw fault("has both `fields` and `deleted`; send one of the two.")
      }
      guard chunks.isEmpty else {
        throw fault("has both `chunks` and `deleted`; send one of the two.")
      }
    } else {
      guard !isFieldsNull else {
        throw wrong(.fields, "a JSON object; to delete a record send \"deleted\":true")
      }
      _ = try require(fields, .fields)
      _ = try require(type, .type)
    }
    return Mutation(
      name: try require(name, .name), type: type, fields: fields,
      modifiedAt: try require(modifiedAt, .modifiedAt), baseTag: baseTag,
      chunks: chunks, refusal: refusal(fields: fields))
  }

  private func refusal(fields: [UInt8]?) -> Refusal? {
    if let fields, fields.count > Limits.recordBytes {
      return Refusal(
        .recordTooLarge,
        "`fields` has \(fields.count) bytes, and a record holds \(Limits.recordBytes); "
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
    member("modifiedAt")
    integer(mutation.modifiedAt)
    if let baseTag = mutation.baseTag {
      member("baseTag")
      integer(baseTag)
    }
    chunkHashes(mutation.chunks)
    endObject()
  }
}

extension Mutation {
  /// Approximate size as JSON, in bytes.
  var encodedBytes: Int {
    (fields?.count ?? 0) + name.text.utf8.count + (type?.text.utf8.count ?? 0) + 96
      + chunks.count * 67
  }
}
