import LockstepJSON
import LockstepModel
import LockstepWire

/// Refusal of the gateway (RFC 9457), in the form of a relay's refusals.
struct GatewayProblem: Error, Hashable {
  enum Code: String, CaseIterable {
    case badRequest, badJSON, bodyTooLarge, notFound, methodNotAllowed
    case badEndpoint, unauthorized, keyRefused, topicNotAllowed, gone
    case tooManyRequests, stopping, apnsUnavailable, apnsRefused

    var status: Int {
      switch self {
      case .badRequest, .badJSON: 400
      case .unauthorized: 401
      case .keyRefused, .topicNotAllowed: 403
      case .notFound, .badEndpoint: 404
      case .methodNotAllowed: 405
      case .gone: 410
      case .bodyTooLarge: 413
      case .tooManyRequests: 429
      // A relay sends nothing at all to a service that answers 503 for the time that it names. So
      // a failure of APNs, which may be one environment's or one push's, has another status.
      case .apnsUnavailable, .apnsRefused: 502
      case .stopping: 503
      }
    }

    var title: String {
      switch self {
      case .badRequest: "The request does not have the form of this call"
      case .badJSON: "The body is not valid JSON"
      case .bodyTooLarge: "The body is too large"
      case .notFound: "Nothing exists at this path"
      case .methodNotAllowed: "This path does not allow that method"
      case .badEndpoint: "The endpoint was not made by this gateway"
      case .unauthorized: "The request has no VAPID token"
      case .keyRefused: "The VAPID token is not accepted for this endpoint"
      case .topicNotAllowed: "The gateway does not push for this app"
      case .gone: "The app is not on the device any more"
      case .tooManyRequests: "Too many requests"
      case .stopping: "The gateway is stopping"
      case .apnsUnavailable: "APNs did not take the push"
      case .apnsRefused: "APNs does not accept the gateway's requests"
      }
    }
  }

  var code: Code
  /// One sentence for a person that contains the next step.
  var detail: String
  var retryAfterMilliseconds: Int64?

  init(_ code: Code, _ detail: String, retryAfterMilliseconds: Int64? = nil) {
    self.code = code
    self.detail = detail
    self.retryAfterMilliseconds = retryAfterMilliseconds
  }

  static let gone = GatewayProblem(
    .gone, "Drop this endpoint; APNs knows no such app on the device.")

  /// Whole seconds for `Retry-After`, rounded up.
  var retryAfterSeconds: Int64? { retryAfterMilliseconds.map { ($0 + 999) / 1_000 } }

  var body: [UInt8] {
    var writer = JSONWriter(capacity: detail.utf8.count + 224)
    writer.beginObject()
    writer.member("type")
    writer.string("urn:lockstep:gateway-problem:" + code.rawValue)
    writer.member("title")
    writer.string(code.title)
    writer.member("status")
    writer.integer(Int64(code.status))
    writer.member("code")
    writer.string(code.rawValue)
    writer.member("detail")
    writer.string(detail)
    if let retryAfterSeconds {
      writer.member("retryAfter")
      writer.integer(retryAfterSeconds)
    }
    writer.endObject()
    return writer.finish()
  }
}

/// An answer to a device or a relay, before it is encoded.
struct GatewayAnswer: Hashable {
  var status: Int
  var headers = HTTPHeaders()
  var body: [UInt8] = []

  init(status: Int, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  init(_ problem: GatewayProblem) {
    status = problem.code.status
    body = problem.body
    headers.append("Content-Type", "application/problem+json")
    headers.append("Cache-Control", "no-store")
    if let seconds = problem.retryAfterSeconds { headers.append("Retry-After", String(seconds)) }
    switch problem.code {
    // RFC 8292 section 4.2.
    case .unauthorized: headers.append("WWW-Authenticate", "vapid")
    case .badRequest, .badJSON, .bodyTooLarge, .notFound, .methodNotAllowed, .badEndpoint,
      .keyRefused, .topicNotAllowed, .gone, .tooManyRequests, .stopping, .apnsUnavailable,
      .apnsRefused:
      break
    }
  }

  /// Answer to bytes that are not a request.
  init(_ refusal: Refusal) {
    status = refusal.code.status
    body = refusal.encodedProblem()
    headers.append("Content-Type", "application/problem+json")
    headers.append("Cache-Control", "no-store")
  }
}
