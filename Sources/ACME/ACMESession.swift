import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepWebPush

/// Settings of a client of an authority.
package struct ACMEConfiguration: Sendable {
  /// URL of the authority's directory.
  package var directory: PushEndpoint
  /// Host names of the certificate: 1 to `ACMELimits.names`, each a `CertificateName`.
  package var names: [String]
  /// Mail address of the owner, for the authority; nil: none.
  package var contact: String?
  /// Challenges that can be answered, at least one. Attempts take turns with them.
  package var kinds: [ACMEChallengeKind]
  /// Port of `https` addresses to which the listener without TLS redirects.
  package var redirectPort: UInt16 = 443
  /// Version of the program, which an authority is told.
  package var version: String

  package init(
    directory: PushEndpoint, names: [String], contact: String? = nil,
    kinds: [ACMEChallengeKind], version: String
  ) {
    self.directory = directory
    self.names = names
    self.contact = contact
    self.kinds = kinds
    self.version = version
  }
}

/// Request to an authority.
package struct ACMERequest: Sendable, Hashable {
  package enum Method: String, Sendable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
  }

  package let method: Method
  package let url: PushEndpoint
  /// Empty unless the method is POST.
  package let body: [UInt8]
}

/// Answer of an authority, with the fields that are used.
package struct ACMEResponse: Sendable {
  package var status: Int
  package var body: [UInt8] = []
  package var nonce: String?
  package var location: String?
  /// `Retry-After`, in milliseconds; nil if there is none.
  package var retryAfter: Int64?

  package init(status: Int) { self.status = status }
}

/// Challenge that the authority is about to validate.
package struct ACMEChallenge: Sendable, Hashable {
  package let kind: ACMEChallengeKind
  package let name: String
  package let token: String
  /// Token and thumbprint of the account's key (RFC 8555 section 8.1).
  package let keyAuthorization: String
}

/// One attempt to get a certificate, or one request for renewal information (RFC 9773): a state
/// machine without I/O. Each call returns the one step that is next; `receive` follows `send`,
/// `resume` follows the other steps that are not an end.
package struct ACMESession: Sendable {
  package enum Goal: Sendable {
    /// `order`: the one with which an earlier attempt ended. `replaces`: renewal identifier of the
    /// certificate that is renewed.
    case certificate(order: ACMEOrder?, replaces: String?)
    case renewalInfo(id: String)
  }

  package enum Step: Sendable {
    case send(ACMERequest)
    case wait(milliseconds: Int64)
    /// The account has changed, and must be stored before the next request. `terms`: URL of the
    /// terms to which it has just agreed.
    case saveAccount(ACMEAccount, terms: String?)
    /// The order must be stored before the next request.
    case saveOrder(ACMEOrder)
    /// The challenge must be answered from now on.
    case present(ACMEChallenge)
    case issued(CertificateChain, P256PrivateKey)
    /// `window`: times in milliseconds since the Unix epoch between which the authority proposes to
    /// renew; nil if it proposes none. `nextCheck`: time to the next request, in milliseconds.
    case renewal(window: ClosedRange<Int64>?, nextCheck: Int64)
    case failed(ACMEFault, pause: Int64?)
  }

  /// Request that is signed, so that it needs a nonce.
  private struct Post: Sendable {
    let call: Call
    let url: PushEndpoint
    let payload: [UInt8]
    /// Times that its nonce was refused.
    var badNonces = 0
  }

  private enum Call: Sendable, Hashable {
    case newAccount, updateAccount, newOrder
    /// `isFirst`: the order of an earlier attempt, which may not exist any more.
    case order(isFirst: Bool)
    case authorization(Int)
    case challenge(Int)
    case finalize, certificate
  }

  private enum Stage: Sendable {
    /// → directory
    case new
    /// → nonce, posted, renewalInfo, over
    case directory
    /// → over
    case renewalInfo
    /// → posted, over
    case nonce(Post)
    /// → posted, nonce, waiting, over
    case posted(Post)
    /// Waits for `resume`, after which this is sent. → posted, nonce
    case waiting(Post)
    /// Waits for `resume` after the account was stored. → posted, nonce
    case accountSaved
    case over
  }

  private let configuration: ACMEConfiguration
  private let kind: ACMEChallengeKind
  private let goal: Goal
  private let secrets: SecretSource
  /// End of the attempt.
  private let deadline: Instant
  private var account: ACMEAccount
  private var order: ACMEOrder?
  private var replaces: String?
  private var directory: ACMEDirectory?
  private var orderState: ACMEOrderState?
  private var stage = Stage.new
  private var nonce: String?
  private var requests = 0
  /// Challenge that was presented last.
  private var presented: ACMEChallengeKind?
  /// Times that an account or an order of an earlier attempt did not exist any more.
  private var restarts = 0

  /// `attempt`: number of the attempt; it decides which challenge is preferred.
  package init(
    _ configuration: ACMEConfiguration, account: ACMEAccount, goal: Goal, attempt: Int,
    secrets: SecretSource, at now: Instant
  ) {
    precondition(!configuration.kinds.isEmpty && !configuration.names.isEmpty)
    self.configuration = configuration
    self.account = account
    self.goal = goal
    self.secrets = secrets
    deadline = now.advanced(milliseconds: ACMELimits.attemptMilliseconds)
    kind = configuration.kinds[max(0, attempt) % configuration.kinds.count]
    if case .certificate(let order, let replaces) = goal {
      self.order = order.flatMap { $0.url.origin == configuration.directory.origin ? $0 : nil }
      self.replaces = replaces
    }
  }

  /// True if it only asks for renewal information.
  package var isCheck: Bool { if case .renewalInfo = goal { true } else { false } }

  /// Returns the first step.
  package mutating func begin() -> Step {
    stage = .directory
    requests += 1
    return .send(ACMERequest(method: .get, url: configuration.directory, body: []))
  }

  package mutating func receive(_ response: ACMEResponse, at moment: Moment) -> Step {
    do throws(ACMEFault) {
      return try handle(response, at: moment)
    } catch {
      // With an object, `Retry-After` is the time of the next look at it.
      return fail(error, pause: response.status < 400 ? nil : response.retryAfter)
    }
  }

  package mutating func resume(at moment: Moment) -> Step {
    do throws(ACMEFault) {
      switch stage {
      case .waiting(let post): return try send(post, at: moment)
      case .accountSaved: return try sendOrder(at: moment)
      case .new, .directory, .renewalInfo, .nonce, .posted, .over:
        preconditionFailure("`resume` must follow a step that waits")
      }
    } catch {
      return fail(error, pause: nil)
    }
  }

  private mutating func fail(_ fault: ACMEFault, pause: Int64?) -> Step {
    stage = .over
    return .failed(fault, pause: pause.map { min(max($0, 0), ACMELimits.pauseMilliseconds) })
  }

  // MARK: requests

  private mutating func count(at moment: Moment) throws(ACMEFault) {
    guard moment.instant < deadline else { throw .timedOut }
    guard requests < ACMELimits.requests else { throw .tooManyRequests }
    requests += 1
  }

  private mutating func post(
    _ call: Call, _ url: PushEndpoint, _ payload: JSONValue? = nil, at moment: Moment
  ) throws(ACMEFault) -> Step {
    try send(Post(call: call, url: url, payload: payload?.serialized() ?? []), at: moment)
  }

  private mutating func send(_ post: Post, at moment: Moment) throws(ACMEFault) -> Step {
    try count(at: moment)
    guard let directory else { throw .malformed("directory") }
    guard let nonce = nonce.take() else {
      stage = .nonce(post)
      return .send(ACMERequest(method: .head, url: directory.newNonce, body: []))
    }
    let signer: JWS.Signer =
      if post.call != .newAccount, let url = account.url { .account(url) } else { .key }
    let body = JWS.sign(
      post.payload, url: post.url.url, nonce: nonce, key: account.key, as: signer)
    stage = .posted(post)
    return .send(ACMERequest(method: .post, url: post.url, body: body))
  }

  // MARK: answers

  private mutating func handle(
    _ response: ACMEResponse, at moment: Moment
  ) throws(ACMEFault) -> Step {
    if let nonce = response.nonce, ACMEObject.isToken(nonce) { self.nonce = nonce }
    switch stage {
    case .directory: return try handleDirectory(response, at: moment)
    case .renewalInfo: return try handleRenewalInfo(response)
    case .nonce(let post):
      try check(response)
      guard nonce != nil else { throw .malformed("Replay-Nonce") }
      return try send(post, at: moment)
    case .posted(let post):
      if (200..<300).contains(response.status) {
        return try handle(post.call, response, at: moment)
      }
      return try handleRefusal(of: post, response, at: moment)
    case .new, .waiting, .accountSaved, .over:
      preconditionFailure("`receive` must follow `send`")
    }
  }

  private func check(_ response: ACMEResponse) throws(ACMEFault) {
    guard (200..<300).contains(response.status) else { throw refusal(response) }
  }

  private func refusal(_ response: ACMEResponse) -> ACMEFault {
    guard let problem = ACMEProblem(JSONValue(ifJSON: response.body)),
      problem.type != "about:blank"
    else { return .status(response.status) }
    return .refused(problem)
  }

  private func object(_ response: ACMEResponse, _ part: String) throws(ACMEFault) -> JSONValue {
    guard let value = JSONValue(ifJSON: response.body), value.members != nil else {
      throw .malformed(part)
    }
    return value
  }

  private var origin: String { configuration.directory.origin }

  private mutating func handleDirectory(
    _ response: ACMEResponse, at moment: Moment
  ) throws(ACMEFault) -> Step {
    try check(response)
    let directory = try ACMEDirectory(object(response, "directory"), origin: origin)
    self.directory = directory
    if case .renewalInfo(let id) = goal {
      guard let base = directory.renewalInfo, let url = ACMEURL.parse(base.url + "/" + id) else {
        stage = .over
        return .renewal(window: nil, nextCheck: ACMELimits.renewalChecks.upperBound)
      }
      try count(at: moment)
      stage = .renewalInfo
      return .send(ACMERequest(method: .get, url: url, body: []))
    }
    guard account.url != nil else { return try sendNewAccount(at: moment) }
    guard account.contact == configuration.contact, !hasForeignAccount else {
      return try sendAccountUpdate(at: moment)
    }
    return try sendOrder(at: moment)
  }

  private mutating func handleRenewalInfo(_ response: ACMEResponse) throws(ACMEFault) -> Step {
    try check(response)
    let window = try object(response, "renewal information")["suggestedWindow"]
    let start = window?["start"]?.string.flatMap { ACMETime.milliseconds($0) }
    let end = window?["end"]?.string.flatMap { ACMETime.milliseconds($0) }
    guard let start, let end, start <= end else { throw .malformed("suggestedWindow") }
    stage = .over
    let limits = ACMELimits.renewalChecks
    let wish = response.retryAfter ?? ACMELimits.renewalCheckMilliseconds
    return .renewal(
      window: start...end, nextCheck: min(max(wish, limits.lowerBound), limits.upperBound))
  }

  private mutating func handle(
    _ call: Call, _ response: ACMEResponse, at moment: Moment
  ) throws(ACMEFault) -> Step {
    switch call {
    case .newAccount, .updateAccount: return try handleAccount(call, response)
    case .newOrder:
      guard let location = response.location else { throw .malformed("Location of an order") }
      let url = try ACMEObject.url(location, "Location of an order", origin: origin)
      let made = ACMEOrder(url: url, key: newKey())
      order = made
      // It is read once more after it is stored.
      stage = .waiting(Post(call: .order(isFirst: false), url: url, payload: []))
      return .saveOrder(made)
    case .order, .finalize:
      return try handleOrder(response, at: moment)
    case .authorization(let index):
      return try handleAuthorization(index, response, at: moment)
    case .challenge(let index):
      guard let urls = orderState?.authorizations, urls.indices.contains(index) else {
        throw .malformed("authorization")
      }
      return wait(for: Post(call: .authorization(index), url: urls[index], payload: []), response)
    case .certificate: return try handleCertificate(response, at: moment)
    }
  }

  private mutating func handleRefusal(
    of post: Post, _ response: ACMEResponse, at moment: Moment
  ) throws(ACMEFault) -> Step {
    let fault = refusal(response)
    let type = if case .refused(let problem) = fault { problem.type } else { "" }
    if type == "badNonce", post.badNonces < ACMELimits.badNonces {
      var again = post
      again.badNonces += 1
      return try send(again, at: moment)
    }
    if type == "accountDoesNotExist", restarts == 0 {
      restarts += 1
      (account.url, order) = (nil, nil)
      return try sendNewAccount(at: moment)
    }
    switch post.call {
    case .order(isFirst: true) where [400, 401, 403, 404, 410].contains(response.status):
      order = nil
      return try sendOrder(at: moment)
    case .newOrder where replaces != nil && response.status < 500 && type != "rateLimited":
      // An authority may know the renewed certificate no more, or may have renewed it already.
      replaces = nil
      return try sendOrder(at: moment)
    case .finalize where type == "orderNotReady":
      guard let order else { throw fault }
      return wait(for: Post(call: .order(isFirst: false), url: order.url, payload: []), response)
    default: throw fault
    }
  }

  // MARK: account

  /// True if the account's URL is on another host than the directory.
  private var hasForeignAccount: Bool {
    account.url.flatMap { ACMEURL.parse($0) }?.origin != origin
  }

  private var contacts: JSONValue {
    .array([configuration.contact].compactMap { $0.map { .string("mailto:" + $0) } })
  }

  private mutating func sendNewAccount(at moment: Moment) throws(ACMEFault) -> Step {
    guard let directory else { throw .malformed("directory") }
    guard !directory.needsExternalAccount else { throw .externalAccountRequired }
    return try post(
      .newAccount, directory.newAccount,
      ["termsOfServiceAgreed": true, "contact": contacts], at: moment)
  }

  private mutating func sendAccountUpdate(at moment: Moment) throws(ACMEFault) -> Step {
    guard let url = account.url.flatMap({ ACMEURL.parse($0) }), url.origin == origin else {
      account.url = nil
      return try sendNewAccount(at: moment)
    }
    return try post(.updateAccount, url, ["contact": contacts], at: moment)
  }

  private mutating func handleAccount(
    _ call: Call, _ response: ACMEResponse
  ) throws(ACMEFault) -> Step {
    if call == .newAccount {
      let url = try ACMEObject.url(response.location, "Location of an account", origin: origin)
      // The key's name is compared as text, so a spelling that would be changed is refused.
      guard url.url == response.location else { throw .malformed("Location of an account") }
      account.url = url.url
    }
    account.contact = configuration.contact
    stage = .accountSaved
    return .saveAccount(account, terms: call == .newAccount ? directory?.terms : nil)
  }

  // MARK: order

  private mutating func sendOrder(at moment: Moment) throws(ACMEFault) -> Step {
    guard let directory else { throw .malformed("directory") }
    if let order { return try post(.order(isFirst: true), order.url, at: moment) }
    let names = configuration.names.map { name -> JSONValue in
      ["type": "dns", "value": .string(name)]
    }
    var members = [JSONMember("identifiers", .array(names))]
    if let replaces, directory.renewalInfo != nil {
      members.append(JSONMember("replaces", .string(replaces)))
    }
    return try post(.newOrder, directory.newOrder, .object(members), at: moment)
  }

  private mutating func handleOrder(
    _ response: ACMEResponse, at moment: Moment
  ) throws(ACMEFault) -> Step {
    let state = try ACMEOrderState(object(response, "order"), origin: origin)
    guard let order else { throw .malformed("order") }
    guard Set(state.names) == Set(configuration.names), state.status != .invalid || restarts > 0
    else { return try replaceOrder(state, at: moment) }
    let isNew = orderState == nil
    orderState = state
    switch state.status {
    case .pending where isNew:
      return try post(.authorization(0), state.authorizations[0], at: moment)
    case .pending, .processing:
      return wait(for: Post(call: .order(isFirst: false), url: order.url, payload: []), response)
    case .ready:
      let request = CertificateRequest.make(names: configuration.names, key: order.key)
      guard let request else { throw .malformed("names") }
      return try post(
        .finalize, state.finalize, ["csr": .string(Base64.encodeURL(request))], at: moment)
    case .valid:
      guard let url = state.certificate else { throw .malformed("certificate of an order") }
      return try post(.certificate, url, at: moment)
    case .invalid: throw .orderInvalid(state.problem)
    }
  }

  /// Makes a new order in place of one of an earlier attempt that leads nowhere.
  private mutating func replaceOrder(
    _ state: ACMEOrderState, at moment: Moment
  ) throws(ACMEFault) -> Step {
    guard orderState == nil, restarts == 0 else { throw .orderInvalid(state.problem) }
    restarts += 1
    order = nil
    return try sendOrder(at: moment)
  }

  private mutating func handleAuthorization(
    _ index: Int, _ response: ACMEResponse, at moment: Moment
  ) throws(ACMEFault) -> Step {
    let state = try ACMEAuthorizationState(object(response, "authorization"), origin: origin)
    guard let order, let urls = orderState?.authorizations, urls.indices.contains(index),
      configuration.names.contains(state.name)
    else { throw .malformed("identifier of an authorization") }
    switch state.status {
    case .valid:
      guard index + 1 < urls.count else {
        return try post(.order(isFirst: false), order.url, at: moment)
      }
      return try post(.authorization(index + 1), urls[index + 1], at: moment)
    case .pending:
      let usable = state.challenges.filter { configuration.kinds.contains($0.kind) }
      guard let challenge = usable.first(where: { $0.kind == kind }) ?? usable.first else {
        throw .noChallenge(name: state.name, offered: state.offered)
      }
      guard challenge.isPending else {
        let poll = Post(call: .authorization(index), url: urls[index], payload: [])
        return wait(for: poll, response)
      }
      stage = .waiting(Post(call: .challenge(index), url: challenge.url, payload: Array("{}".utf8)))
      presented = challenge.kind
      let thumbprint = JWS.thumbprint(of: account.key.publicKey)
      return .present(
        ACMEChallenge(
          kind: challenge.kind, name: state.name, token: challenge.token,
          keyAuthorization: challenge.token + "." + thumbprint))
    case .invalid, .deactivated, .expired, .revoked:
      throw .notValidated(name: state.name, presented ?? kind, state.problem)
    }
  }

  private mutating func handleCertificate(
    _ response: ACMEResponse, at moment: Moment
  ) throws(ACMEFault) -> Step {
    guard let order else { throw .malformed("order") }
    guard let chain = CertificateChain(response.body, key: order.key) else {
      throw .unusableCertificate("it is none, or not for the key")
    }
    guard Set(chain.names.map { $0.lowercased() }).isSuperset(of: configuration.names) else {
      throw .unusableCertificate("it is for other names")
    }
    guard chain.start < chain.end, moment.wall < chain.end else {
      throw .unusableCertificate("it has expired; check this machine's clock")
    }
    stage = .over
    return .issued(chain, order.key)
  }

  /// Waits, as long as the authority wishes, before an object is read once more.
  private mutating func wait(for post: Post, _ response: ACMEResponse) -> Step {
    stage = .waiting(post)
    let limits = ACMELimits.polls
    let wish = response.retryAfter ?? ACMELimits.pollMilliseconds
    return .wait(milliseconds: min(max(wish, limits.lowerBound), limits.upperBound))
  }

  private func newKey() -> P256PrivateKey { ACMEKey.make(secrets) }
}

/// Keys for accounts and certificates.
enum ACMEKey {
  /// Each draw is out of range with a chance of 2⁻³².
  private static let draws = 16

  static func make(_ secrets: SecretSource) -> P256PrivateKey {
    for _ in 0..<draws {
      if let key = P256PrivateKey(secrets.bytes(P256PrivateKey.byteCount)) { return key }
    }
    preconditionFailure("the source of secrets repeats itself")
  }
}

/// Times as an authority writes them (RFC 3339).
package enum ACMETime {
  /// Returns milliseconds since the Unix epoch; nil unless the text is `YYYY-MM-DDTHH:MM:SS`, with
  /// or without a fraction, and `Z` or an offset.
  package static func milliseconds(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard (20...40).contains(bytes.count), [0x54, 0x74, 0x20].contains(bytes[10]),
      bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
      let days = UniversalTime.day(of: String(decoding: bytes[..<10], as: UTF8.self)),
      let hour = number(bytes[11..<13], below: 24), let minute = number(bytes[14..<16], below: 60),
      let second = number(bytes[17..<19], below: 61)
    else { return nil }
    var rest = bytes[19...]
    if rest.first == UInt8(ascii: ".") {
      rest = rest.dropFirst().drop { (0x30...0x39).contains($0) }
    }
    guard let offset = offsetMinutes(rest) else { return nil }
    let minutes = days * 1_440 + hour * 60 + minute - offset
    return (minutes * 60 + second) * 1_000
  }

  private static func offsetMinutes(_ bytes: ArraySlice<UInt8>) -> Int64? {
    if bytes.count == 1, [0x5A, 0x7A].contains(bytes.first) { return 0 }
    let digits = bytes.dropFirst()
    guard bytes.count == 6, let sign = bytes.first, [0x2B, 0x2D].contains(sign),
      digits[digits.startIndex + 2] == UInt8(ascii: ":"),
      let hours = number(digits.prefix(2), below: 24),
      let minutes = number(digits.suffix(2), below: 60)
    else { return nil }
    return (sign == 0x2D ? -1 : 1) * (hours * 60 + minutes)
  }

  private static func number(_ digits: ArraySlice<UInt8>, below limit: Int64) -> Int64? {
    guard digits.allSatisfy({ (0x30...0x39).contains($0) }),
      let value = Int64(String(decoding: digits, as: UTF8.self)), value < limit
    else { return nil }
    return value
  }
}
