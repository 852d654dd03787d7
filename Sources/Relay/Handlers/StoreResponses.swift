import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// Builds the answer to a call that writes from the store's result.
enum CommitResponse: Sendable {
  case account(Credentials)
  case joined(DeviceID, token: String, from: PeerNetwork)
  case pairing(PairingOffer)
  /// The device is read next, to be returned with its new name.
  case renamed(DeviceID)
  case revoked(AccountID, DeviceID)
  case saved(_ atomic: Bool, timed: Bool)
  /// After a retry, the record is read next.
  case written(RecordKey, isDelete: Bool)
  case zoneDeleted
  case subscribed(Subscription)
  case unsubscribed
  case owner(AdminCommitResponse)
  case renewedChunk(ChunkFetch)
  case missingChunks([ChunkHash])
  case wakePut(WakeOffer)
  case wakeRemoved
  case wakeVerified

  /// Returns the answer. Throws the store's refusal.
  func answer(to result: CommitResult) throws(Refusal) -> Answer {
    switch (self, result) {
    case (_, .refused(let refusal)):
      throw refusal
    case (.account(let credentials), .done):
      return Answer(status: 201, json: JoinAnswer(credentials).encodedBody())
    case (.joined(let device, let token, _), .redeemed(let account, let scope, let wrapped)):
      let credentials = Credentials(account: account, device: device, token: token, scope: scope)
      let answer = JoinAnswer(credentials, wrapped: wrapped)
      return Answer(status: 201, json: answer.encodedBody())
    case (.pairing(let offer), .done):
      return Answer(status: 201, json: offer.encodedBody())
    case (.revoked, .done):
      return Answer(status: 204)
    case (.saved(let atomic, _), .saved(let outcome)):
      let isAborted = atomic && !outcome.answer.results.contains(where: \.isSaved)
      return Answer(status: isAborted ? 409 : 200, json: outcome.answer.encodedBody())
    case (.owner(let response), _):
      return try response.answer(to: result)
    case (.zoneDeleted, .zoneDeleted), (.unsubscribed, .subscribed):
      return Answer(status: 204)
    case (.subscribed(let subscription), .subscribed(_, let isNew)):
      return Answer(status: isNew ? 201 : 200, json: subscription.encodedBody())
    case (.renewedChunk(let fetch), .renewed(let sizes)) where sizes.count == 1:
      return try .head(fetch, size: sizes[0])
    case (.missingChunks(let hashes), .renewed(let sizes)) where sizes.count == hashes.count:
      return Answer(missing: hashes, sizes: sizes)
    case (.wakePut, .wakePut(let isNew, let isVerified)):
      // A new registration, and one that has to be verified again, gets its code by a push.
      return Answer(status: isNew ? 201 : isVerified ? 204 : 202)
    case (.wakeRemoved, .done), (.wakeVerified, .done):
      return Answer(status: 204)
    default:
      throw StoreHealth.mismatch
    }
  }
}

/// Builds the answer to a call that reads anything but a page of changes.
enum ReadResponse: Sendable {
  case devices
  case device(DeviceID)
  case record(ifNoneMatch: [String])
  /// The account's newest token: an event stream begins there.
  case events
  case zones
  /// The device's subscriptions are read with its principal.
  case subscriptions
  case subscription(Name)
  case owner(AdminReadResponse)
  case chunk(ChunkFetch)
  /// Header of the answer to a `GET` of a chunk.
  case chunkHead(ChunkFetch)
  case missingChunks([ChunkHash])
  case wakes
  case wake(Name)
  /// The relay's keys for push services: the registration names one that was not known.
  case wakeKeys(for: WakeRegistrationBody)

  /// Returns the answer, if it needs only the store's result.
  func answer(showing result: ReadResult) throws(Refusal) -> Answer {
    switch (self, result) {
    case (.record(let ifNoneMatch), .record(let record)):
      return Answer(record: record, ifNoneMatch: ifNoneMatch)
    case (.zones, .zones(let zones, let more)):
      return Answer(status: 200, json: ZoneList(zones, more: more).encodedBody())
    case (.subscriptions, .principal(let principal)):
      return Answer(
        status: 200, json: SubscriptionList(principal.subscriptions).encodedBody())
    case (.subscription(let id), .principal(let principal)):
      guard let subscription = principal.subscriptions.first(where: { $0.id == id }) else {
        throw StoreRefusals.unknownSubscription
      }
      return Answer(status: 200, json: subscription.encodedBody())
    case (.chunkHead(let fetch), .namedChunks(let chunks)) where chunks.count == 1:
      return try .head(fetch, size: chunks[0]?.bytes)
    case (.missingChunks(let hashes), .namedChunks(let chunks)) where chunks.count == hashes.count:
      return Answer(missing: hashes, sizes: chunks.map { $0?.bytes })
    case (.wakes, .wakes(let wakes)):
      return Answer(status: 200, json: WakeList(wakes).encodedBody())
    case (.wake(let id), .wakes(let wakes)):
      guard let wake = wakes.first(where: { $0.id == id }) else { throw StoreRefusals.unknownWake }
      return Answer(status: 200, json: wake.encodedBody())
    default:
      throw StoreHealth.mismatch
    }
  }
}

/// Builds the answer to a call that reads a page of changes.
enum PageResponse: Sendable {
  case changes(FetchQuery)
  case events
  case recordList(ifNoneMatch: [String], type: Name?)
}

extension MutationResult {
  fileprivate var isSaved: Bool {
    switch self {
    case .saved: true
    case .conflict, .refused: false
    }
  }

  var isConflict: Bool {
    switch self {
    case .conflict: true
    case .saved, .refused: false
    }
  }
}
