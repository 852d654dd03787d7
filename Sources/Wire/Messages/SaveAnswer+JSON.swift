public import LockstepModel

extension SaveAnswer {
  /// Encodes the body that answers `POST /v1/zones/{zone}/records`, with 200 or, for an atomic
  /// batch that failed, with 409.
  public func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: encodedBytes)
    writer.beginObject()
    writer.answer(self)
    writer.endObject()
    return writer.finish()
  }

  public static func decoded(body: [UInt8]) throws(Refusal) -> SaveAnswer {
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
      place = Place(list: .results, index: results.count)
      results.append(try result())
      place = nil
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
