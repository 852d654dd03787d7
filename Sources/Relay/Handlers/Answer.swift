import LockstepModel
import LockstepWire

/// The answer to an HTTP request, before it is encoded.
struct Answer: Hashable, Sendable {
  var status: Int
  var headers = HTTPHeaders()
  var body: [UInt8] = []
  /// Bytes of the whole body, if `body` has only its beginning.
  var bodyCount: Int?
  /// Refusal code for the counters; nil if nothing was refused.
  var refused: RefusalCode?
  /// True if no page of another origin may read the answer, whatever origins are allowed.
  var isForOwnPages = false

  init(status: Int) { self.status = status }

  /// Creates a JSON answer for this client only, not to be cached.
  init(status: Int, json body: [UInt8]) {
    self.status = status
    self.body = body
    headers.append("Content-Type", "application/json")
    headers.append("Cache-Control", "no-store")
  }

  /// `record`: the record that the refusal is about, if it shows one.
  init(status: Int, problem refusal: Refusal, record: Record? = nil) {
    self.status = status
    refused = refusal.code
    body = refusal.encodedProblem(record: record)
    headers.append("Content-Type", "application/problem+json")
    headers.append("Cache-Control", "no-store")
  }

  /// `methods`: the methods that the path allows, for a 405.
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

  /// Answer to a request for a path at which nothing exists: a page for a browser, a problem for
  /// all others.
  init(missing refusal: Refusal, to head: HTTPRequestHead, methods: [String] = []) {
    guard refusal.code == .notFound, ["GET", "HEAD"].contains(head.method),
      head.headers.list("Accept").contains(where: { $0.lowercased().hasPrefix("text/html") })
    else {
      self.init(refusal, methods: methods)
      return
    }
    self.init(status: refusal.code.status)
    refused = refusal.code
    headers.append("Content-Type", "text/html; charset=utf-8")
    headers.append("Cache-Control", "no-store")
    headers.append("Content-Security-Policy", Answer.policy)
    headers.append("X-Content-Type-Options", "nosniff")
    headers.append("Referrer-Policy", "no-referrer")
    body = Array(Answer.missingPage(refusal.detail).utf8)
  }

  /// `detail`: may contain the names of files.
  private static func missingPage(_ detail: String) -> String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Page not found</title>
    </head>
    <body>
    <main>
    <h1>Page not found</h1>
    <p>\(escapedForHTML(detail))</p>
    <p><a href="/">Open the first page of this relay</a></p>
    </main>
    </body>
    </html>

    """
  }

  private static func escapedForHTML(_ text: String) -> String {
    text.map { character in
      switch character {
      case "&": "&amp;"
      case "<": "&lt;"
      case ">": "&gt;"
      case "\"": "&quot;"
      default: String(character)
      }
    }.joined()
  }

  /// Answer without an `error` attribute, because no token was sent (RFC 6750 section 3.1).
  static var missingToken: Answer {
    let refusal = Refusal(
      .badToken, "Send the device's token as `Authorization: Bearer <token>`.")
    var answer = Answer(status: 401, problem: refusal)
    answer.headers.append("WWW-Authenticate", "Bearer realm=\"lockstep\"")
    return answer
  }

  /// `isForeign`: the request is from a page that may not use the relay, so nothing is allowed.
  static func options(methods: [String], isForeign: Bool = false) -> Answer {
    var answer = Answer(status: 204)
    let list = methods.joined(separator: ", ")
    answer.headers.append("Allow", list)
    if isForeign { return answer }
    answer.headers.append("Access-Control-Allow-Methods", list)
    answer.headers.append(
      "Access-Control-Allow-Headers",
      "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, If-Range, "
        + "Last-Event-ID, Range")
    answer.headers.append("Access-Control-Max-Age", "86400")
    return answer
  }
}

extension Answer {
  /// True if the client already has the content that the tag names (RFC 9110 section 13.1.2).
  static func isHeld(_ tag: String, by ifNoneMatch: [String]) -> Bool {
    ifNoneMatch.contains { $0 == "*" || $0 == tag || $0 == "W/" + tag }
  }

  /// `ifNoneMatch`: the entity tags that the client already has.
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

  /// `ifNoneMatch`: the entity tags that the client already has.
  init(list page: ReadPage, ifNoneMatch: [String]) {
    // Any save in the account makes another token.
    let tag = "\"\(page.token.text)\""
    let isHeld = Answer.isHeld(tag, by: ifNoneMatch)
    self.init(status: isHeld ? 304 : 200)
    headers.append("ETag", tag)
    headers.append("Cache-Control", "private, no-cache")
    if isHeld { return }
    headers.append("Content-Type", "application/json")
    body = page.bytes
  }
}
