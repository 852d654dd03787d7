import LockstepJSON
import LockstepModel
import LockstepStorage
import LockstepWire

/// The calls of a relay's owner on the store: from the control socket, or with a session of the
/// owner's page. They apply to any account; none of them interprets the contents of a record.
enum AdminCall: Hashable, Sendable {
  /// Creates an account without devices, and a pairing code for its first device.
  case createAccount
  case accounts(after: AccountID?, limit: Int)
  case account(AccountID)
  case removeAccount(AccountID)
  case setPlan(AccountID)
  case issuePairing(AccountID)
  case devices(AccountID)
  case revokeDevice(AccountID, DeviceID)
  case changes(AccountID, FetchQuery)
  /// A whole chunk of a file.
  case chunk(AccountID, ChunkHash)
  case wakeKeys
  /// Makes a new key for push services.
  case addWakeKey
  /// Its path or its query is invalid.
  case refused(Refusal)
}

/// The relay's owner. On the control socket no authentication is needed: the socket is in the
/// store's folder, which only its owner can access.
struct Owner: Sendable {
  /// Performs the call. `body`: at most `Call.bodyLimit` bytes. Throws a refusal if it is invalid.
  func perform(
    _ call: AdminCall, body: [UInt8], in context: CallContext
  ) throws(Refusal) -> HandlerResult {
    switch call {
    case .createAccount:
      let body = try OfferRequest(body)
      let (offer, request) = try AccountOffer.make(
        label: body.label, validFor: body.expiresIn, secrets: context.secrets, wall: context.wall,
        relay: context.configuration.linkURL)
      return .commit(request, .owner(.created(offer, label: body.label)))
    case .accounts(let after, let limit):
      return .read(.accounts(after: after, limit: limit), .owner(.accounts))
    case .account(let account): return .read(.account(account), .owner(.account))
    case .removeAccount(let account):
      return .commit(.removeAccount(account), .owner(.removed(account)))
    case .setPlan(let account):
      let plan = try Plan.decoded(body: body)
      return .commit(.setPlan(account, plan), .owner(.planSet(account, plan)))
    case .issuePairing(let account):
      var (pairing, offer) = PairingCode.issue(
        from: context.secrets, wall: context.wall,
        seconds: body.isEmpty ? nil : try OfferRequest(body).expiresIn,
        longest: Limits.invitationMilliseconds)
      offer.relay = context.configuration.linkURL
      return .commit(
        .issuePairing(account, pairing),
        .owner(.paired(AccountOffer(account: account, pairing: offer))))
    case .devices(let account): return .read(.devices(account), .owner(.devices(account)))
    case .revokeDevice(let account, let device):
      return .commit(.revokeDevice(account, device), .owner(.revoked(account, device)))
    case .refused(let refusal): throw refusal
    case .changes(let account, let query):
      return .read(
        .changes(account, since: query.since, zones: ZoneSelection(query.zone), limit: query.limit),
        .owner(.changes))
    case .chunk(let account, let hash):
      return .read(
        .chunk(account, hash), .owner(.chunk(ChunkFetch(hash, headers: HTTPHeaders()))))
    case .wakeKeys: return .read(.wakeKeys, .owner(.wakeKeys(at: context.wall)))
    case .addWakeKey:
      let key = WakeConfiguration.newKey(from: context.secrets, at: context.wall)
      return .commit(.addWakeKey(key, onlyFirst: false), .owner(.wakeKeys(at: context.wall)))
    }
  }

}

/// Body of an owner's call that issues a pairing code: `{"label"?,"expiresIn"?}`.
private struct OfferRequest {
  /// The owner's name for a new account.
  var label = ""
  /// Seconds for which the code is valid; nil: ten minutes.
  var expiresIn: Int64?

  private static let range = Limits.pairingSecondsMin...Limits.invitationMilliseconds / 1_000

  init(_ body: [UInt8]) throws(Refusal) {
    let json: JSONValue
    do throws(JSONFault) {
      json = try JSONValue(parsing: body)
    } catch {
      throw Refusal(.badJSON, "The body must be a JSON object.")
    }
    guard json.members != nil else {
      throw Refusal(.badRequest, "The body must be a JSON object.")
    }
    if let value = json["label"] {
      guard let text = value.string else {
        throw Refusal(.badRequest, "`label` must be a string: the owner's name for the account.")
      }
      label = text
    }
    if let value = json["expiresIn"] {
      guard let seconds = value.int64, Self.range.contains(seconds) else {
        throw Refusal(
          .badRequest,
          "`expiresIn` must be a number of seconds from \(Self.range.lowerBound) to "
            + "\(Self.range.upperBound).")
      }
      expiresIn = seconds
    }
  }
}

/// Builds the answer to an owner's call that writes from the store's result.
enum AdminCommitResponse: Hashable, Sendable {
  case created(AccountOffer, label: String)
  case paired(AccountOffer)
  case planSet(AccountID, Plan)
  case removed(AccountID)
  case revoked(AccountID, DeviceID)
  case wakeKeys(at: Int64)

  /// Returns the answer. Throws the store's refusal.
  func answer(to result: CommitResult) throws(Refusal) -> Answer {
    switch (self, result) {
    case (_, .refused(let refusal)): throw refusal
    case (.created(let offer, _), .done), (.paired(let offer), .done):
      return Answer(status: 201, json: offer.encodedBody())
    case (.planSet(_, let plan), .done): return Answer(status: 200, json: plan.encodedBody())
    case (.removed, .done), (.revoked, .done): return Answer(status: 204)
    case (.wakeKeys(let wall), .wakeKeys(let keys)):
      return Answer(status: 201, json: WakeKeyList(keys, at: wall).encodedBody())
    default: throw StoreHealth.mismatch
    }
  }
}

/// Builds the answer to an owner's call that reads.
enum AdminReadResponse: Hashable, Sendable {
  case accounts
  case account
  case devices(AccountID)
  case changes
  /// The chunk's bytes are read from the chunk store next.
  case chunk(ChunkFetch)
  case wakeKeys(at: Int64)

  /// Returns the answer. `shown` completes a device of the account with what
  /// the store does not know about it.
  func answer(
    to result: ReadResult, shown: (Device, AccountID) -> Device
  ) throws(Refusal) -> Answer {
    switch (self, result) {
    case (_, .refused(let refusal)): throw refusal
    case (.accounts, .accounts(let accounts, let more)):
      return Answer(status: 200, json: AccountList(accounts, more: more).encodedBody())
    case (.account, .account(let summary)):
      return Answer(status: 200, json: summary.json.serialized())
    case (.devices(let account), .devices(let devices)):
      let list = devices.map { shown($0, account) }
      return Answer(status: 200, json: DeviceList(list).encodedBody())
    case (.changes, .page(let page)): return Answer(status: 200, json: page.encodedBody())
    case (.wakeKeys(let wall), .wakeKeys(let keys)):
      return Answer(status: 200, json: WakeKeyList(keys, at: wall).encodedBody())
    default: throw StoreHealth.mismatch
    }
  }
}

extension RelayConfiguration {
  /// URL for the owner's links; nil if the relay's address is not known.
  fileprivate var linkURL: String? { publicURL ?? ownURL }
}
