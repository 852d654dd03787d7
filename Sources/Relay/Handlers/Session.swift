import LockstepModel
import LockstepStorage
import LockstepWire

/// A connection after sign-in: its account and device, and the calls that it may make. Each of its
/// requests to the store carries its own account, so that accounts do not mix.
struct Session: Sendable {
  let account: AccountID
  let device: DeviceID
  /// Hash of the token that it signed in with: the same token needs no second lookup.
  let tokenHash: TokenHash
  /// nil if neither the plan nor the scope limits anything, as for most devices.
  private var rights: CopyOnWriteBox<Rights>?

  private struct Rights: Sendable {
    var plan: Plan
    var scope: DeviceScope
  }

  init(
    account: AccountID, device: DeviceID, tokenHash: TokenHash, plan: Plan = .everything,
    scope: DeviceScope = .everything
  ) {
    (self.account, self.device, self.tokenHash) = (account, device, tokenHash)
    setRights(plan, scope)
  }

  private mutating func setRights(_ plan: Plan, _ scope: DeviceScope) {
    let isLimited = plan != .everything || scope != .everything
    rights = isLimited ? CopyOnWriteBox(Rights(plan: plan, scope: scope)) : nil
  }

  /// The account's plan, updated by news.
  var plan: Plan {
    get { rights?.value.plan ?? .everything }
    set { setRights(newValue, scope) }
  }

  /// The part of the account that the device may use.
  var scope: DeviceScope { rights?.value.scope ?? .everything }

  var presenceKey: Presence.Key { Presence.Key(account: account, device: device) }

  /// Performs the call. `body`: at most `Call.bodyLimit` bytes. Throws a refusal if it is invalid.
  func perform(
    _ call: SignedCall, body: [UInt8], headers: HTTPHeaders, in context: CallContext
  ) throws(Refusal) -> HandlerResult {
    if let refusal = refusal(of: call) { throw refusal }
    switch call {
    case .listWakes, .wake, .putWake, .removeWake, .verifyWake:
      return try performWake(call, body: body, in: context)
    case .issuePairing: return try issuePairing(body, in: context)
    case .listDevices:
      return .read(.devices(account), .devices)
    case .renameDevice(let device):
      let name = try RenameRequest.decoded(body: body).deviceName
      return .commit(.renameDevice(account, device, deviceName: name), .renamed(device))
    case .revokeDevice(let device):
      return .commit(.revokeDevice(account, device), .revoked(account, device))
    case .save(let zone):
      let request = try SaveRequest.decoded(body: body, zone: zone)
      return .commit(
        .save(saveCommit(for: request, wall: context.wall)),
        .saved(request.atomic, timed: request.timed))
    case .record(let key):
      return .read(.record(account, key), .record(ifNoneMatch: headers.list("If-None-Match")))
    case .listRecords(let query): return list(query, headers)
    case .putRecord(let key): return try put(body, at: key, headers, in: context)
    case .deleteRecord(let key, let base): return try delete(key, on: base, headers, in: context)
    case .changes(let query):
      return .page(readRequest(for: query), .changes(query))
    case .events(let since):
      guard let since = try Session.lastEventID(headers) ?? since else {
        return .read(.newestToken(account), .events)
      }
      return .page(readRequest(for: FetchQuery(since: since)), .events)
    case .listZones(let after, let limit):
      return .read(.zones(account, after: after, within: scope.zones, limit: limit), .zones)
    case .deleteZone(let zone, let through):
      return .commit(.deleteZone(account, device, zone, through: through), .zoneDeleted)
    case .listSubscriptions:
      return .read(.authenticate(tokenHash: tokenHash.bytes), .subscriptions)
    case .subscription(let id):
      return .read(.authenticate(tokenHash: tokenHash.bytes), .subscription(id))
    case .putSubscription(let id): return try putSubscription(id, body)
    case .removeSubscription(let id):
      return .commit(.removeSubscription(account, device, id), .unsubscribed)
    case .chunk(let hash): return readChunk(ChunkFetch(hash, headers: headers))
    case .renewChunk(let hash): return renewChunk(ChunkFetch(hash, headers: headers))
    case .missingChunks:
      let hashes = try MissingChunksRequest.decoded(body: body).hashes
      return namedChunks(hashes, .missingChunks(hashes))
        ?? .commit(.renewChunks(account, hashes), .missingChunks(hashes))
    case .refused(let refusal):
      throw refusal
    }
  }

  private func putSubscription(_ id: Name, _ body: [UInt8]) throws(Refusal) -> HandlerResult {
    let subscription = try Subscription.decoded(body: body, id: id)
    guard subscription.zone.map(scope.includes) ?? true else { throw Session.outOfScope }
    return .commit(.putSubscription(account, device, subscription), .subscribed(subscription))
  }

  private func readChunk(_ fetch: ChunkFetch) -> HandlerResult {
    namedChunks([fetch.hash], .chunk(fetch)) ?? .read(.chunk(account, fetch.hash), .chunk(fetch))
  }

  private func renewChunk(_ fetch: ChunkFetch) -> HandlerResult {
    namedChunks([fetch.hash], .chunkHead(fetch))
      ?? .commit(.renewChunks(account, [fetch.hash]), .renewedChunk(fetch))
  }

  /// Reads chunks for a device that may know only of those that records of its zones name. Returns
  /// nil for a device that may read all zones.
  private func namedChunks(
    _ hashes: [ChunkHash], _ response: ReadResponse
  ) -> HandlerResult? {
    scope.zones.map { .read(.namedChunks(account, hashes, zones: $0), response) }
  }

  private func issuePairing(
    _ body: [UInt8], in context: CallContext
  ) throws(Refusal) -> HandlerResult {
    let request = try PairingRequest.decoded(body: body)
    let newScope = request.scope(within: scope)
    guard scope.contains(newScope) else { throw Session.outOfScope }
    var (pairing, offer) = PairingCode.issue(
      from: context.secrets, wall: context.wall, seconds: request.expiresIn)
    pairing.issuer = device
    pairing.scope = newScope
    pairing.wrapped = request.wrapped
    offer.scope = newScope
    offer.relay = context.configuration.publicURL
    return .commit(.issuePairing(account, pairing), .pairing(offer))
  }

  /// Performs a call about wakes.
  private func performWake(
    _ call: SignedCall, body: [UInt8], in context: CallContext
  ) throws(Refusal) -> HandlerResult {
    switch call {
    case .listWakes: return .read(.wakes(account, device), .wakes)
    case .wake(let id): return .read(.wakes(account, device), .wake(id))
    case .putWake(let id): return try putWake(id, body, in: context)
    case .removeWake(let id):
      return .commit(.removeWake(account, device, id), .wakeRemoved)
    case .verifyWake(let id):
      let code = try WakeVerification.decoded(body: body)
      return .commit(
        .verifyWake(account, device, id, codeHash: WakeCode.hash(of: code)), .wakeVerified)
    default: throw StoreHealth.mismatch
    }
  }

  private func putWake(
    _ id: Name, _ body: [UInt8], in context: CallContext
  ) throws(Refusal) -> HandlerResult {
    let wake = try WakeRegistrationBody.decoded(body: body, id: id)
    if let result = try put(wake, in: context) { return result }
    // Another relay on the same store may have made the key a moment ago.
    return .read(.wakeKeys, .wakeKeys(for: wake))
  }

  /// Returns nil if the relay does not know the key for which the device has subscribed.
  func put(
    _ wake: WakeRegistrationBody, in context: CallContext
  ) throws(Refusal) -> HandlerResult? {
    guard let wakes = context.configuration.wakes else { throw WakeConfiguration.isOff }
    let accepted = try wakes.check(wake.registration)
    guard let keyMadeAt = wakes.madeAt(wakeKey: wake.wakeKey) else { return nil }
    let code = WakeCode.make(from: context.secrets)
    let offer = WakeOffer(
      id: SleeperID(account: account, device: device), registration: accepted,
      keyMadeAt: keyMadeAt, code: code)
    return .commit(
      .putWake(
        account, device, accepted, keyMadeAt: keyMadeAt, codeHash: WakeCode.hash(of: code)),
      .wakePut(offer))
  }

  private func list(_ query: RecordListQuery, _ headers: HTTPHeaders) -> HandlerResult {
    .page(
      .changes(account, since: query.after, zones: .zone(query.zone), limit: query.limit),
      .recordList(ifNoneMatch: headers.list("If-None-Match"), type: query.type))
  }

  private func put(
    _ body: [UInt8], at key: RecordKey, _ headers: HTTPHeaders, in context: CallContext
  ) throws(Refusal) -> HandlerResult {
    let (mutation, base) = try Mutation.decoded(recordBody: body, name: key.name)
    return try write(mutation, to: key, on: base, headers, in: context)
  }

  private func delete(
    _ key: RecordKey, on base: ReplacedVersion?, _ headers: HTTPHeaders, in context: CallContext
  ) throws(Refusal) -> HandlerResult {
    let mutation = Mutation(
      name: key.name, type: nil, fields: nil, modifiedAt: 0, baseTag: nil, isStampedByRelay: true)
    return try write(mutation, to: key, on: base, headers, in: context)
  }

  /// `base`: the version that the body or the query names.
  private func write(
    _ mutation: Mutation, to key: RecordKey, on base: ReplacedVersion?, _ headers: HTTPHeaders,
    in context: CallContext
  ) throws(Refusal) -> HandlerResult {
    let write = try RecordWrite(mutation, named: base, headers: headers, secrets: context.secrets)
    let request = SaveRequest(
      id: write.id, zone: key.zone, atomic: false, mutations: [write.mutation])
    return .commit(
      .save(saveCommit(for: request, wall: context.wall)),
      .written(key, isDelete: mutation.isDelete))
  }

  /// Returns the token at which a reconnecting stream continues. A browser sends it by itself,
  /// beside the original `since`.
  private static func lastEventID(_ headers: HTTPHeaders) throws(Refusal) -> ChangeToken? {
    guard let text = headers["Last-Event-ID"], !text.isEmpty else { return nil }
    guard let token = ChangeToken(text: text) else {
      throw Refusal(
        .badChangeToken,
        "`Last-Event-ID` is not a token of this relay; fetch, and start at the last page's token.")
    }
    return token
  }

  /// Returns the refusal of a call that is invalid or not in the account's plan. A save is not
  /// refused here: only the store knows if it was made before.
  func refusal(of call: SignedCall) -> Refusal? {
    if case .refused(let refusal) = call { return refusal }
    if !includes(call) { return Session.outOfScope }
    return plan.hasNoZone && call.needsPlan ? Session.needsPlan : nil
  }

  /// True if the device's scope includes the call, as far as its path and query show. The body of a
  /// save is judged with the save.
  private func includes(_ call: SignedCall) -> Bool {
    if rights == nil { return true }
    switch call {
    case .record(let key): return scope.includes(key.zone)
    case .listRecords(let query): return scope.includes(query.zone)
    case .changes(let query): return query.zone.map(scope.includes) ?? true
    case .deleteZone(let zone, _): return scope.includesWrites(to: zone)
    case .renameDevice(let device), .revokeDevice(let device):
      return scope == .everything || device == self.device
    // A batch that is sent again gets its answer whatever the plan is, and the scope never changes.
    case .save, .putRecord, .deleteRecord: return true
    // These are limited to the zones of the scope, or to the device itself.
    case .issuePairing, .listDevices, .events, .listZones, .listSubscriptions, .subscription,
      .putSubscription, .removeSubscription, .chunk, .renewChunk, .missingChunks, .listWakes, .wake,
      .putWake, .removeWake, .verifyWake, .refused:
      return true
    }
  }

  /// Refusal of an upload of a chunk, before its body arrives.
  var refusalOfUpload: Refusal? {
    if scope.isReadOnly { return Session.outOfScope }
    return plan.hasNoZone ? Session.needsPlan : nil
  }

  /// Refusal of a fetch over a socket.
  func refusal(of query: FetchQuery) -> Refusal? {
    query.zone.map(scope.includes) ?? true ? nil : Session.outOfScope
  }

  /// Returns the refusal of a save into a zone that the device's scope or the account's plan does
  /// not include.
  private func refusal(ofSaveInto zone: Name) -> Refusal? {
    if !scope.includesWrites(to: zone) { return Session.outOfScope }
    if plan.hasNoZone { return Session.needsPlan }
    if plan.includes(zone) { return nil }
    return Refusal(
      .planRequired,
      "The account's plan does not include the zone \"\(zone)\"; ask the owner of the relay.")
  }

  /// Refusal if the account's plan includes no zone.
  static let needsPlan = Refusal(
    .planRequired, "The account's plan includes no zone; ask the owner of the relay.")

  /// The same whether what is asked for exists or not.
  static let outOfScope = Refusal(
    .outOfScope,
    "This device was paired for another part of the account; pair it again with a code for more.")

  /// The query's zone must be within the scope.
  func readRequest(for query: FetchQuery) -> ReadRequest {
    let zones: ZoneSelection =
      query.zone.map { .zone($0) } ?? scope.zones.map { .scope($0) } ?? .all
    return .changes(account, since: query.since, zones: zones, limit: query.limit)
  }

  /// Returns the batch for the store: with its digest, and with the faults of single records that
  /// only the relay can find.
  ///
  /// `wall`: relay time, milliseconds.
  func saveCommit(for request: SaveRequest, wall: Int64) -> SaveCommit {
    var checked = request
    // Reads `request`: a change copies `checked`, and usually nothing changes.
    for (index, mutation) in request.mutations.enumerated() where mutation.refusal == nil {
      if mutation.isStampedByRelay { checked.mutations[index].modifiedAt = wall }
      guard mutation.modifiedAt > wall + Limits.clockAheadMilliseconds else { continue }
      checked.mutations[index].refusal = Refusal(
        .clockAhead, "`modifiedAt` is in the future; set it from the relay's time.",
        relayTime: wall)
    }
    return SaveCommit(
      account: account, device: device, request: checked, digest: BatchDigest.hash(of: request),
      unlessKnown: refusal(ofSaveInto: request.zone))
  }
}
