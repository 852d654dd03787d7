import LockstepJSON
import LockstepModel

extension Refusal {
  /// Encodes the refusal as `application/problem+json` (RFC 9457). `record`: the record as the
  /// relay has it, for `preconditionFailed`.
  @usableFromInline
  package func encodedProblem(record: Record? = nil) -> [UInt8] {
    var writer = JSONWriter(capacity: detail.utf8.count + 224 + (record?.encodedBytes ?? 0))
    writer.problem(self, record: record)
    return writer.finish()
  }

  /// Returns a problem of the relay; nil if the body is not one (a proxy's page).
  package static func problem(_ body: [UInt8], status: Int) -> Refusal? {
    var reader = MessageReader(body.span.bytes, formCode: .badMessage)
    do {
      let refusal = try reader.problem(status: status)
      try reader.finish()
      return refusal
    } catch {
      return nil
    }
  }

  /// Returns the refusal in an unsuccessful response. If the body is not a problem of ours (a
  /// proxy's page), the status gives the code. But only the relay itself can reject the token, the
  /// plan, the cursor or the content: if only a status says so, it counts as a temporary fault on
  /// the path.
  @usableFromInline
  package static func decoded(problem body: [UInt8], status: Int) -> Refusal {
    if let refusal = problem(body, status: status) { return refusal }
    let meaning = RefusalCode(meaningOf: status)
    let isRelaysAlone = [.badToken, .planRequired, .badRequest, .tokenExpired].contains(meaning)
    return Refusal(
      isRelaysAlone ? .internalError : meaning,
      "The answer with status \(status) is not a problem document of the relay.")
  }

  /// Whole seconds for `Retry-After`, rounded up.
  package var retryAfterSeconds: Int64? {
    retryAfterMilliseconds.map { ($0 + 999) / 1000 }
  }
}

extension RefusalCode {
  /// Returns the code for a status, if only the status is known.
  init(meaningOf status: Int) {
    switch status {
    case 401: self = .badToken
    case 402: self = .planRequired
    case 404: self = .notFound
    case 405: self = .methodNotAllowed
    case 408: self = .requestTimeout
    case 410: self = .tokenExpired
    case 411: self = .lengthRequired
    case 413: self = .bodyTooLarge
    case 414: self = .uriTooLong
    case 415: self = .unsupportedMediaType
    case 426: self = .upgradeRequired
    case 429: self = .tooManyRequests
    case 431: self = .headersTooLarge
    case 502, 503, 504: self = .storeUnavailable
    case 400..<500: self = .badRequest
    default: self = .internalError
    }
  }
}

extension RefusalCode {
  /// Returns a code in place of one that this program does not know. It does not fail a whole
  /// request (`isWhole`) for its content, because the cause is not known.
  fileprivate init(unknownWithStatus status: Int, isWhole: Bool) {
    let meaning = RefusalCode(meaningOf: status)
    let blamesContent = meaning == .badRequest || meaning == .bodyTooLarge
    self = isWhole && blamesContent ? .internalError : meaning
  }
}

extension MessageReader {
  /// Reads a problem. `status` is the response's; one record's problem contains its own.
  mutating func problem(status response: Int?) throws(Refusal) -> Refusal {
    var code: String?
    var detail: String?
    var status = response
    var time: Int64?
    var retryAfter: Int64?
    var restoredThrough: ChangeTag?
    var lostThrough: ChangeTag?
    var token: ChangeToken?
    var relay: String?
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .code: code = try string(.code)
      case .detail: detail = try string(.detail)
      case .status where response == nil: status = Int(try integer(.status, 0..<1000))
      case .time: time = try skipNull() ? nil : try instant(.time)
      case .retryAfter: retryAfter = try retryAfterMilliseconds()
      case .restoredThrough:
        restoredThrough = try skipNull() ? nil : try integer(.restoredThrough)
      case .lostThrough: lostThrough = try skipNull() ? nil : try integer(.lostThrough)
      case .token: token = try skipNull() ? nil : try changeToken(.token)
      case .relay: relay = try skipNull() ? nil : try string(.relay)
      default: try skip()
      }
    }
    let word = try require(code, .code)
    return Refusal(
      RefusalCode(rawValue: word)
        ?? RefusalCode(unknownWithStatus: status ?? 500, isWhole: response != nil),
      detail ?? "", retryAfterMilliseconds: retryAfter, relayTime: time,
      restoredThrough: restoredThrough, lostThrough: lostThrough, token: token, relay: relay)
  }

  private mutating func retryAfterMilliseconds() throws(Refusal) -> Int64? {
    if try skipNull() { return nil }
    return try integer(.retryAfter, 0..<Limits.sequenceLimit / 1000, of: "seconds") * 1000
  }
}

extension JSONWriter {
  mutating func problem(_ refusal: Refusal, record: Record? = nil) {
    beginObject()
    member("type")
    string("urn:lockstep:problem:" + refusal.code.rawValue)
    member("title")
    string(refusal.code.title)
    member("status")
    integer(Int64(refusal.code.status))
    refusalMembers(refusal)
    if let record {
      member("record")
      self.record(record)
    }
    endObject()
  }

  /// Writes the members that a problem and an `error` message have in common.
  mutating func refusalMembers(_ refusal: Refusal) {
    member("code")
    string(refusal.code.rawValue)
    member("detail")
    string(refusal.detail)
    if let time = refusal.relayTime {
      member("time")
      integer(time)
    }
    if let seconds = refusal.retryAfterSeconds {
      member("retryAfter")
      integer(seconds)
    }
    if let tag = refusal.restoredThrough {
      member("restoredThrough")
      integer(tag)
    }
    if let tag = refusal.lostThrough {
      member("lostThrough")
      integer(tag)
    }
    if let token = refusal.token {
      member("token")
      self.token(token)
    }
    if let relay = refusal.relay {
      member("relay")
      string(relay)
    }
  }
}
