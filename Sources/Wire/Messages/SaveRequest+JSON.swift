public import LockstepModel

extension SaveRequest {
  /// Reads the body of `POST /v1/zones/{zone}/records`. Throws a fault of the whole batch; a fault
  /// of one record is stored in its mutation.
  public static func decoded(body: [UInt8], zone: Name) throws(Refusal) -> SaveRequest {
    var reader = MessageReader(body.span.bytes, formCode: .badRequest)
    let request = try reader.saveRequest(zone: zone)
    try reader.finish()
    return request
  }

  public func encodedBody() -> [UInt8] {
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
      case .atomic: atomic = try takeNull() ? false : try bool(.atomic)
      case .timed: timed = try takeNull() ? false : try bool(.timed)
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
