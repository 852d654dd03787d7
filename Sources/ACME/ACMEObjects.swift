import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepWebPush

/// Account at an authority.
package struct ACMEAccount: Sendable {
  package let key: P256PrivateKey
  /// URL of the account, exactly as the authority gave it; nil before it is made.
  package var url: String?
  /// Mail address that the authority has; nil if it has none.
  package var contact: String?

  package init(key: P256PrivateKey, url: String? = nil, contact: String? = nil) {
    self.key = key
    self.url = url
    self.contact = contact
  }

  /// Reads a stored account. Returns nil if it is damaged.
  package init?(stored bytes: [UInt8]) {
    guard let value = JSONValue(ifJSON: bytes),
      let key = value["key"]?.string.flatMap({ Base64.decodeURL($0) }).flatMap({
        P256PrivateKey($0)
      })
    else { return nil }
    self.init(key: key, url: value["url"]?.string, contact: value["contact"]?.string)
  }

  package var stored: [UInt8] {
    JSONValue.object([
      JSONMember("key", .string(Base64.encodeURL(key.scalar))),
      JSONMember("url", url.map { .string($0) } ?? .null),
      JSONMember("contact", contact.map { .string($0) } ?? .null),
    ]).serialized()
  }
}

/// Order that an authority has accepted, and the key of its certificate.
package struct ACMEOrder: Sendable {
  package let url: PushEndpoint
  package let key: P256PrivateKey

  package init(url: PushEndpoint, key: P256PrivateKey) {
    self.url = url
    self.key = key
  }
}

/// State between attempts. It is stored before an attempt begins, so that neither a restart nor a
/// crash makes the next one earlier.
package struct ACMEProgress: Sendable {
  /// Attempts since the last certificate, including the one under way.
  package var failures = 0
  /// Time of the next attempt, in milliseconds since the Unix epoch; nil if there was no failure.
  package var retryAt: Int64?
  /// End of the pause that the authority has asked for, likewise.
  package var pausedUntil: Int64?
  /// Time of the last certificate, likewise.
  package var issuedAt: Int64?
  package var order: ACMEOrder?

  package init() {}

  /// Reads a stored state; what is damaged in it is left out.
  package init(stored bytes: [UInt8]) {
    guard let value = JSONValue(ifJSON: bytes) else { return }
    failures = Int(clamping: max(0, value["failures"]?.int64 ?? 0))
    retryAt = value["retryAt"]?.int64.map { max(0, $0) }
    pausedUntil = value["pausedUntil"]?.int64.map { max(0, $0) }
    issuedAt = value["issuedAt"]?.int64.map { max(0, $0) }
    guard let text = value["order"]?["url"]?.string, let url = ACMEURL.parse(text),
      let scalar = value["order"]?["key"]?.string.flatMap({ Base64.decodeURL($0) }),
      let key = P256PrivateKey(scalar)
    else { return }
    order = ACMEOrder(url: url, key: key)
  }

  package var stored: [UInt8] {
    func number(_ value: Int64?) -> JSONValue { value.map { .number(JSONNumber($0)) } ?? .null }
    let order = order.map { order in
      JSONValue.object([
        JSONMember("url", .string(order.url.url)),
        JSONMember("key", .string(Base64.encodeURL(order.key.scalar))),
      ])
    }
    return JSONValue.object([
      JSONMember("failures", number(Int64(failures))), JSONMember("retryAt", number(retryAt)),
      JSONMember("pausedUntil", number(pausedUntil)), JSONMember("issuedAt", number(issuedAt)),
      JSONMember("order", order ?? .null),
    ]).serialized()
  }

  /// Records that an attempt begins: if the process ends before the attempt does, it counts as
  /// failed.
  mutating func begin(at wall: Int64) {
    failures = min(failures, Int(Int32.max)) + 1
    retryAt = wall + ACMEProgress.backoff(after: failures)
    pausedUntil = nil
  }

  /// Records that the attempt failed. `pause`: the time that the authority has asked for, in
  /// milliseconds.
  mutating func fail(at wall: Int64, pause: Int64?) {
    retryAt = wall + max(ACMEProgress.backoff(after: failures), pause ?? 0)
    pausedUntil = pause.map { wall + $0 }
  }

  /// Limits the waits: a clock that was set back does not make them longer.
  mutating func limitWaits(at wall: Int64) {
    let latest = wall + ACMELimits.pauseMilliseconds
    retryAt = retryAt.map { min($0, latest) }
    pausedUntil = pausedUntil.map { min($0, latest) }
  }

  mutating func succeed(at wall: Int64) {
    self = ACMEProgress()
    issuedAt = wall
  }

  /// Wait after this number of failures, in milliseconds.
  package static func backoff(after failures: Int) -> Int64 {
    let waits = ACMELimits.backoff
    return waits[min(max(failures, 1), waits.count) - 1]
  }
}

/// URLs of an authority.
enum ACMEURL {
  static func parse(_ text: String) -> PushEndpoint? {
    do throws(PushEndpointFault) {
      return try PushEndpoint(text)
    } catch {
      return nil
    }
  }
}

/// Directory of an authority (RFC 8555 section 7.1.1).
struct ACMEDirectory: Sendable {
  let newNonce: PushEndpoint
  let newAccount: PushEndpoint
  let newOrder: PushEndpoint
  /// Nil if the authority has no renewal information (RFC 9773).
  let renewalInfo: PushEndpoint?
  let terms: String?
  let needsExternalAccount: Bool

  init(_ value: JSONValue, origin: String) throws(ACMEFault) {
    newNonce = try value.url("newNonce", origin: origin)
    newAccount = try value.url("newAccount", origin: origin)
    newOrder = try value.url("newOrder", origin: origin)
    let renewalInfo = value["renewalInfo"]?.string.flatMap { ACMEURL.parse($0) }
    self.renewalInfo = renewalInfo?.origin == origin ? renewalInfo : nil
    terms = value["meta"]?["termsOfService"]?.string.map { ACMEProblem.printable($0) }
    needsExternalAccount = value["meta"]?["externalAccountRequired"]?.bool ?? false
  }
}

/// State of an order (RFC 8555 section 7.1.3).
struct ACMEOrderState: Sendable {
  enum Status: String { case pending, ready, processing, valid, invalid }

  let status: Status
  let names: [String]
  let authorizations: [PushEndpoint]
  let finalize: PushEndpoint
  let certificate: PushEndpoint?
  let problem: ACMEProblem?

  init(_ value: JSONValue, origin: String) throws(ACMEFault) {
    guard let status = value["status"]?.string.flatMap({ Status(rawValue: $0) }) else {
      throw .malformed("status of an order")
    }
    self.status = status
    guard let identifiers = value["identifiers"]?.array, identifiers.count <= ACMELimits.names
    else { throw .malformed("identifiers of an order") }
    names = identifiers.compactMap { $0["value"]?.string?.lowercased() }
    guard let list = value["authorizations"]?.array, (1...ACMELimits.names).contains(list.count)
    else { throw .malformed("authorizations of an order") }
    var authorizations: [PushEndpoint] = []
    for item in list {
      authorizations.append(try ACMEObject.url(item.string, "authorization", origin: origin))
    }
    self.authorizations = authorizations
    finalize = try value.url("finalize", origin: origin)
    certificate =
      status == .valid ? try value.url("certificate", origin: origin) : nil
    problem = ACMEProblem(value["error"])
  }
}

/// State of the authorization for a name (RFC 8555 section 7.1.4).
struct ACMEAuthorizationState: Sendable {
  enum Status: String { case pending, valid, invalid, deactivated, expired, revoked }

  struct Challenge: Sendable {
    let kind: ACMEChallengeKind
    let url: PushEndpoint
    let token: String
    /// True unless the authority knows already that it is answered.
    let isPending: Bool
  }

  let status: Status
  let name: String
  let challenges: [Challenge]
  /// Kinds of the first challenges, as the authority names them.
  let offered: [String]
  /// Problem of the challenge that failed.
  let problem: ACMEProblem?

  init(_ value: JSONValue, origin: String) throws(ACMEFault) {
    guard let status = value["status"]?.string.flatMap({ Status(rawValue: $0) }) else {
      throw .malformed("status of an authorization")
    }
    self.status = status
    guard let name = value["identifier"]?["value"]?.string?.lowercased() else {
      throw .malformed("identifier of an authorization")
    }
    self.name = name
    let items = value["challenges"]?.array ?? []
    guard items.count <= ACMELimits.challenges else {
      throw .malformed("challenges of an authorization")
    }
    var challenges: [Challenge] = []
    var problem: ACMEProblem?
    for item in items {
      problem = problem ?? ACMEProblem(item["error"])
      guard let kind = item["type"]?.string.flatMap({ ACMEChallengeKind(rawValue: $0) }) else {
        continue
      }
      guard let token = item["token"]?.string, ACMEObject.isToken(token) else {
        throw .malformed("token of a challenge")
      }
      challenges.append(
        Challenge(
          kind: kind, url: try item.url("url", origin: origin), token: token,
          isPending: item["status"]?.string == "pending"))
    }
    self.challenges = challenges
    offered = items.prefix(ACMELimits.subproblems).compactMap {
      $0["type"]?.string.map { ACMEProblem.printable($0) }
    }
    self.problem = problem
  }
}

enum ACMEObject {
  /// True for characters of Base64url, as a nonce and a token have (RFC 8555 sections 6.5.1, 8.3).
  static func isToken(_ text: String) -> Bool {
    (1...ACMELimits.tokenCharacters).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }

  /// Reads a URL. `part`: name of it in an error. An authority cannot make the relay send requests
  /// to other hosts.
  static func url(
    _ text: String?, _ part: String, origin: String
  ) throws(ACMEFault) -> PushEndpoint {
    guard let text, let url = ACMEURL.parse(text) else { throw .malformed(part) }
    guard url.origin == origin else { throw .otherOrigin(part) }
    return url
  }
}

extension JSONValue {
  fileprivate func url(_ name: String, origin: String) throws(ACMEFault) -> PushEndpoint {
    try ACMEObject.url(self[name]?.string, name, origin: origin)
  }
}
