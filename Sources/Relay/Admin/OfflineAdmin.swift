import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// Performs the owner's calls on a store that no relay serves. Each call is routed, checked,
/// performed and answered as by a running relay, one at a time and synchronously.
package struct OfflineAdmin: Sendable {
  package struct Response: Hashable, Sendable {
    package var status: Int
    /// JSON; a problem document if the status is an error.
    package var body: [UInt8]
  }

  private let secrets: SecretSource

  package init(secrets: SecretSource) { self.secrets = secrets }

  /// `wall` is the time in milliseconds since the Unix epoch. Throws if the store failed; nothing
  /// was done then.
  package func answer(
    _ method: String, _ target: RequestTarget, body: [UInt8], on store: some ZoneStore,
    _ files: some ChunkStore, wall: Int64
  ) throws(StorageError) -> Response {
    let answer: Answer
    switch Router.route(method: method, target: target, listenerKind: .control) {
    case .call(.owner(let call)):
      answer = try perform(call, body: body, on: store, files, wall: wall)
    case .refused(let refusal, let methods): answer = Answer(refusal, methods: methods)
    case .call, .options:
      answer = Answer(Refusal(.notFound, "No relay runs on this store; start it first."))
    }
    return Response(status: answer.status, body: answer.body)
  }

  private func perform(
    _ call: AdminCall, body: [UInt8], on store: some ZoneStore, _ files: some ChunkStore,
    wall: Int64
  ) throws(StorageError) -> Answer {
    let context = CallContext(
      configuration: RelayConfiguration(), secrets: secrets, wall: wall,
      address: PeerNetwork(of: .local(path: "")))
    let result: HandlerResult
    do throws(Refusal) {
      result = try Owner().perform(call, body: body, in: context)
    } catch {
      return Answer(error)
    }
    switch result {
    case .answer(let answer): return answer
    case .commit(let request, let response):
      let done = try commit(request, on: store, wall: wall)
      let answer = Result { () throws(Refusal) in try response.answer(to: done) }
      if case .success = answer, case .removeAccount(let account) = call {
        _ = try files.perform(.removeAll(of: account))
      }
      return answer.orRefusal
    case .read(let request, .owner(.chunk)):
      return try self.answer(to: try store.read(request), from: files)
    case .read(let request, .owner(let response)):
      let read = try store.read(request)
      return Result { () throws(Refusal) in
        try response.answer(to: read) { device, _ in device }
      }.orRefusal
    case .read, .page: return Answer(StoreHealth.mismatch)
    }
  }

  /// Commits the request, and what its portions leave undone. Returns the last result.
  private func commit(
    _ request: CommitRequest, on store: some ZoneStore, wall: Int64
  ) throws(StorageError) -> CommitResult {
    var next = request
    while true {
      let results = try store.commit([next], wall: wall)
      precondition(results.count == 1, "a store must return one result per request")
      guard let rest = request.rest(after: results[0]) else { return results[0] }
      next = rest
    }
  }

  /// Builds the answer with a chunk's bytes in memory: a chunk has at most `Limits.chunkBytes`.
  private func answer(
    to result: ReadResult, from files: some ChunkStore
  ) throws(StorageError) -> Answer {
    switch result {
    case .refused(let refusal): return Answer(refusal)
    case .chunk(let chunk):
      var answer = Answer(status: 200)
      while answer.body.count < chunk.bytes {
        let request = ChunkRequest.read(
          chunk.file, offset: answer.body.count, count: Limits.chunkPortionBytes)
        switch try files.perform(request) {
        case .bytes(let bytes) where !bytes.isEmpty: answer.body += bytes
        case .refused(let refusal): return Answer(refusal)
        case .bytes, .done, .files: return Answer(StoreHealth.mismatch)
        }
      }
      return answer
    default: return Answer(StoreHealth.mismatch)
    }
  }
}

extension Result<Answer, Refusal> {
  fileprivate var orRefusal: Answer {
    switch self {
    case .success(let answer): answer
    case .failure(let refusal): Answer(refusal)
    }
  }
}

/// A new account without devices, and the pairing code for its first device. A relay's owner makes
/// it for a person, through the running relay or, if none runs, directly in its store.
package struct AccountOffer: Hashable, Sendable {
  package let account: AccountID
  package var pairing: PairingOffer

  /// Draws the account's id and its code, and returns the request to commit for them. The offer is
  /// valid only after that commit.
  ///
  /// `label` is the owner's name for the account, at most `Limits.nameBytes`; `wall` is relay time;
  /// `seconds`: time for which the code is valid, ten minutes if nil. Throws if the label is too
  /// long or has control characters.
  package static func make(
    label: String, validFor seconds: Int64? = nil, secrets: SecretSource, wall: Int64,
    relay: String? = nil
  ) throws(Refusal) -> (AccountOffer, CommitRequest) {
    guard label.isEmpty || Name.isValid(label) else {
      throw Refusal(
        .badRequest,
        "An account's label may have at most \(Limits.nameBytes) bytes, and no control characters.")
    }
    let account = AccountID(rawValue: secrets.word())
    var (pairing, offer) = PairingCode.issue(
      from: secrets, wall: wall, seconds: seconds, longest: Limits.invitationMilliseconds)
    offer.relay = relay
    let request = CommitRequest.createAccount(
      account, generation: newGeneration(secrets), label: label, device: nil, pairing: pairing)
    return (AccountOffer(account: account, pairing: offer), request)
  }

  static func newGeneration(_ secrets: SecretSource) -> UInt32 {
    UInt32(truncatingIfNeeded: secrets.word())
  }

  /// Link that a browser opens to join the account; nil if the relay's address is not known.
  package var link: String? { pairing.relay.map { "\($0)/#code=\(pairing.code)" } }

  /// The answer to `POST /v1/admin/accounts`, and to `POST /v1/admin/accounts/{id}/pairings`.
  package func encodedBody() -> [UInt8] { json.serialized() }

  package var json: JSONValue {
    let json: JSONValue = [
      "accountID": .string(account.text), "code": .string(pairing.code),
      "expiresAt": JSONValue(integerLiteral: pairing.expiresAt),
    ]
    return json.setting("relay", to: pairing.relay.map { .string($0) })
      .setting("link", to: link.map { .string($0) })
  }

  /// Throws `badMessage` or `badJSON` if `body` is not such an answer.
  package static func decoded(body: [UInt8]) throws(Refusal) -> AccountOffer {
    let pairing = try PairingOffer.decoded(body: body)
    let text = try AdminBody.parsed(body)["accountID"]?.string
    guard let account = text.flatMap(AccountID.init(text:)) else {
      throw Refusal(.badMessage, "`accountID` must be an account's id.")
    }
    return AccountOffer(account: account, pairing: pairing)
  }
}
