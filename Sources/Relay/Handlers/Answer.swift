import LockstepModel
import LockstepWire

/// What an HTTP request is answered with, before it becomes bytes.
struct Answer: Hashable, Sendable {
  var status: Int
  var headers = HTTPHeaders()
  var body: [UInt8] = []
  /// Of the whole body, where `body` has only its beginning.
  var bodyCount: Int?
  /// For the counters; nil where nothing was refused.
  var refused: RefusalCode?

  init(status: Int) { self.status = status }

  /// JSON that concerns this one client at this one time.
  init(status: Int, json body: [UInt8]) {
    self.status = status
    self.body = body
    headers.append("Content-Type", "application/json")
    headers.append("Cache-Control", "no-store")
  }

  private init(status: Int, problem refusal: Refusal) {
    self.status = status
    refused = refusal.code
    body = refusal.encodedProblem()
    headers.append("Content-Type", "application/problem+json")
    headers.append("Cache-Control", "no-store")
  }

  /// `methods`: what the path takes, for a 405.
  init(_ refusal: Refusal, methods: [String] = []) {
    self.init(status: refusal.code.status, problem: refusal)
    if let seconds = refusal.retryAfterSeconds {
      headers.append("Retry-After", String(seconds))
    }
    switch refusal.code {
    case .methodNotAllowed:
      headers.append("Allow", methods.joined(separator: ", "))
    case .badToken:
      headers.append("WWW-Authenticate", "Bearer realm=\"lockstep\", error=\"invalid_token\"")
    case .upgradeRequired:
      headers.append("Upgrade", "websocket")
      headers.append("Sec-WebSocket-Version", "13")
    default: break
    }
  }

  /// Where no token was sent there is no error in it either (RFC 6750 section 3.1).
  static var missingToken: Answer {
    let refusal = Refusal(
      .badToken, "Send the device's token as `Authorization: Bearer <token>`.")
    var answer = Answer(status: 401, problem: refusal)
    answer.headers.append("WWW-Authenticate", "Bearer realm=\"lockstep\"")
    return answer
  }

  /// `isForeign`: a page asks that may not use the relay, and is told nothing that would let it.
  static func options(methods: [String], isForeign: Bool = false) -> Answer {
    var answer = Answer(status: 204)
    let list = methods.joined(separator: ", ")
    answer.headers.append("Allow", list)
    if isForeign { return answer }
    answer.headers.append("Access-Control-Allow-Methods", list)
    answer.headers.append(
      "Access-Control-Allow-Headers",
      "Authorization, Content-Type, If-None-Match, If-Range, Last-Event-ID, Range")
    answer.headers.append("Access-Control-Max-Age", "86400")
    return answer
  }
}

extension Answer {
  /// Whether the client has what the tag names already (RFC 9110 section 13.1.2).
  static func isHeld(_ tag: String, by ifNoneMatch: [String]) -> Bool {
    ifNoneMatch.contains { $0 == "*" || $0 == tag || $0 == "W/" + tag }
  }

  /// `ifNoneMatch`: the tags that the client holds already.
  init(record: Record, ifNoneMatch: [String]) {
    let tag = "\"\(record.tag)\""
    let isHeld = Answer.isHeld(tag, by: ifNoneMatch)
    self.init(status: isHeld ? 304 : 200)
    headers.append("ETag", tag)
    headers.append("Cache-Control", "private, no-cache")
    if isHeld { return }
    headers.append("Content-Type", "application/json")
    body = record.encodedBody()
  }
}
