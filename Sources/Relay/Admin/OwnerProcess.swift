import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// The owner's calls that the running process answers without its store.
enum OwnerProcessCall: Hashable, Sendable {
  /// Makes a one-time code, with which the owner's page begins a session.
  case issueCode
  /// Begins a session; the only one of these calls for which none is needed.
  case signIn
  /// Ends the session of the request.
  case signOut
  /// Facts on the store: its size, and the last backup and check.
  case storeFacts
  case metrics
}

/// Body of the answer to `POST /v1/admin/codes`: `{"code","expiresAt","url"}`.
package struct AdminCodeAnswer: Hashable, Sendable {
  package var code: String
  /// Milliseconds since the Unix epoch.
  package var expiresAt: Int64
  /// Link to the owner's page with the code; nil if the page is served nowhere.
  package var url: String?

  /// `base`: URL of the listener that serves the page.
  init(code: String, expiresAt: Int64, base: String?) {
    self.code = code
    self.expiresAt = expiresAt
    // Browsers never send the part after `#`.
    url = base.map { "\($0)/admin#code=\(code)" }
  }

  package var json: JSONValue {
    [
      "code": .string(code), "expiresAt": JSONValue(integerLiteral: expiresAt),
      "url": url.map { .string($0) } ?? .null,
    ]
  }

  package static func decoded(body: [UInt8]) throws(Refusal) -> AdminCodeAnswer {
    let json = try AdminBody.parsed(body)
    guard let code = json["code"]?.string, let expiresAt = json["expiresAt"]?.int64,
      let url = json["url"]
    else {
      throw Refusal(.badMessage, "The answer must have `code`, `expiresAt` and `url`.")
    }
    var answer = AdminCodeAnswer(code: code, expiresAt: expiresAt, base: nil)
    answer.url = url.string
    return answer
  }
}

extension RelayServices {
  private static let codeBytes = 20

  /// Answers a call of the owner. `token`: hash of the session's token, if the request has one.
  /// `address`: network of the client.
  mutating func answer(
    to call: OwnerProcessCall, body: [UInt8], token: TokenHash?, from address: PeerNetwork
  ) throws(Refusal) -> Answer {
    switch call {
    case .issueCode: return issueCode()
    case .signIn: return try signIn(body, from: address)
    case .signOut:
      if let token { adminSessions.withTable { $0.endSession(token) } }
      return Answer(status: 204)
    case .storeFacts:
      checkStoreFiles()
      return Answer(status: 200, json: storeFacts.serialized())
    case .metrics:
      var answer = healthAnswer(.metrics, listenerKind: .admin)
      answer.headers.append("Cache-Control", "no-store")
      return answer
    }
  }

  /// Returns the refusal of a request of the owner's without a valid session; nil if it has one.
  mutating func refusalOfOwner(_ token: ArraySlice<UInt8>?) -> Answer? {
    guard let token else { return .missingSession }
    do throws(Refusal) {
      try requireSession(token)
      return nil
    } catch {
      return Answer(error)
    }
  }

  /// Throws unless the token is that of a session.
  mutating func requireSession(_ token: ArraySlice<UInt8>?) throws(Refusal) {
    let hash = token.map { TokenHash(DeviceToken.hash($0)) }
    let now = moment.instant
    guard let hash, adminSessions.withTable({ $0.hasSession(hash, at: now) }) else {
      throw RelayServices.endedSession
    }
  }

  private mutating func issueCode() -> Answer {
    let code = Base64.encodeURL(secrets.bytes(RelayServices.codeBytes))
    let (hash, now) = (TokenHash(DeviceToken.hash(code)), moment.instant)
    adminSessions.withTable { $0.addCode(hash, at: now) }
    let answer = AdminCodeAnswer(
      code: code, expiresAt: moment.wall + Limits.adminCodeMilliseconds,
      base: configuration.ownerURL)
    return Answer(status: 201, json: answer.json.serialized())
  }

  private mutating func signIn(
    _ body: [UInt8], from address: PeerNetwork
  ) throws(Refusal) -> Answer {
    guard let code = try AdminBody.parsed(body)["code"]?.string else {
      throw Refusal(.badRequest, "`code` must be the code of the link.")
    }
    let token = DeviceToken.make(from: secrets)
    let (codeHash, now) = (TokenHash(DeviceToken.hash(code)), moment.instant)
    let hash = TokenHash(DeviceToken.hash(token))
    guard adminSessions.withTable({ $0.beginSession(hash, byCode: codeHash, at: now) }) else {
      // Only wrong codes count, so that nobody keeps the owner out by sending them.
      try countGuess(from: address)
      if let wait = admission.guesses.totalWait(at: now) { throw Admission.tooManyGuesses(wait) }
      throw RelayServices.wrongCode
    }
    actions.append(.report(.ownerSignedIn(address)))
    let json: JSONValue = [
      "token": .string(token),
      "expiresAt": JSONValue(integerLiteral: moment.wall + Limits.adminSessionMilliseconds),
    ]
    return Answer(status: 201, json: json.serialized())
  }

  private var storeFacts: JSONValue {
    let (store, upkeep) = (measures.read(), measures.upkeep())
    func number(_ value: Int64?) -> JSONValue {
      value.map { JSONValue(integerLiteral: $0) } ?? .null
    }
    return [
      "kind": .string(configuration.sharesStore ? "postgres" : "sqlite"),
      "bytes": number(store.databaseBytes), "logBytes": number(store.logBytes),
      "freeBytes": number(store.freeBytes),
      "backup": upkeep.backup?.json ?? .null, "check": upkeep.check?.json ?? .null,
      "version": .string(configuration.version),
      "startedAt": JSONValue(integerLiteral: configuration.startedAt),
      "open": .bool(configuration.isOpen),
      "url": (configuration.publicURL ?? configuration.ownURL).map { .string($0) } ?? .null,
    ]
  }

  private static let wrongCode = Refusal(
    .badToken,
    "This link was used before, or it is too old; `lockstep relay admin` on the relay's machine "
      + "makes a new one.")
  private static let endedSession = Refusal(
    .badToken,
    "This session has ended; open a new link, which `lockstep relay admin` makes on the relay's "
      + "machine.")
}

extension Answer {
  /// Answer to an owner's request without a token (RFC 6750 section 3.1).
  static var missingSession: Answer {
    let refusal = Refusal(
      .badToken,
      "Only the relay's owner may do this: open a link that `lockstep relay admin` makes on the "
        + "relay's machine.")
    var answer = Answer(status: 401, problem: refusal)
    answer.headers.append("WWW-Authenticate", "Bearer realm=\"lockstep\"")
    return answer
  }
}
