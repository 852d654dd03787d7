import LockstepModel
import LockstepWire

/// A call of the protocol, given by path and method.
enum Call: Hashable, Sendable {
  /// Open to all clients.
  case unauthenticated(UnauthenticatedCall)
  /// For signed-in devices only.
  case signed(SignedCall)
  /// For the relay's owner only.
  case owner(AdminCall)
  /// For the relay's owner only, except the beginning of a session.
  case ownerProcess(OwnerProcessCall)
  /// Upload of a chunk of a file by a signed-in device; written as it arrives.
  case upload(ChunkHash)
  /// Health and metrics of the process, for supervisors.
  case health(HealthCall)
  /// A page, or a file of one, for a browser.
  case page(PageFile)
  /// A file of the owner's folder of pages, by its names.
  case ownPage([String])
  /// An upgrade to WebSocket; a device may sign in before or after it.
  case socket
}

enum UnauthenticatedCall: Hashable, Sendable {
  case createAccount
  case join
  case time
  case limits
}

enum SignedCall: Hashable, Sendable {
  case issuePairing
  case listDevices
  case renameDevice(DeviceID)
  case revokeDevice(DeviceID)
  case save(zone: Name)
  case record(RecordKey)
  case listRecords(RecordListQuery)
  case putRecord(RecordKey)
  /// `base`: the version that the query names.
  case deleteRecord(RecordKey, base: ReplacedVersion?)
  case changes(FetchQuery)
  /// An event stream; `Last-Event-ID` takes precedence over `since`.
  case events(since: ChangeToken?)
  case listZones(after: Name?, limit: Int)
  case deleteZone(Name, through: ChangeToken?)
  case listSubscriptions
  case subscription(Name)
  case putSubscription(Name)
  case removeSubscription(Name)
  case chunk(ChunkHash)
  /// Checks for a chunk, so that it is kept.
  case renewChunk(ChunkHash)
  case missingChunks
  case listWakes
  case wake(Name)
  case putWake(Name)
  case removeWake(Name)
  case verifyWake(Name)
  /// Its path or its query is invalid.
  case refused(Refusal)
}

/// A page of the list of a zone's live records: a page of the snapshot of that zone.
struct RecordListQuery: Hashable, Sendable {
  var zone: Name
  /// Token of the page before, in the middle of the list.
  var after: ChangeToken?
  /// Only records of this type. Pages are divided before the others are left out.
  var type: Name?
  var limit = Limits.pageRecords
}

extension SignedCall {
  /// True if the call is useful only if the account's plan has a zone. Devices may always be
  /// managed, and a save may be a retry of one that was made before.
  var needsPlan: Bool {
    switch self {
    case .issuePairing, .listDevices, .renameDevice, .revokeDevice, .save, .refused: false
    case .record, .listRecords, .putRecord, .deleteRecord, .changes, .events, .listZones,
      .deleteZone, .listSubscriptions,
      .subscription, .putSubscription, .removeSubscription, .chunk, .renewChunk, .missingChunks,
      .listWakes, .wake, .putWake, .removeWake, .verifyWake:
      true
    }
  }
}

enum HealthCall: Hashable, Sendable {
  case live
  case ready
  case metrics
  case status
}

extension Call {
  /// Maximum bytes of the body.
  var bodyLimit: Int {
    switch self {
    case .signed(.save), .signed(.putRecord): Limits.batchBytes
    case .signed(.putSubscription): Limits.subscriptionBytes
    case .signed(.putWake): Limits.wakeRegistrationBytes
    case .signed(.missingChunks): Limits.chunkHashesBytes
    case .signed(.issuePairing): Limits.pairingBodyBytes
    // The error is reported whatever body follows.
    case .upload, .signed(.refused): Limits.chunkBytes
    case .owner(.setPlan): Limits.planBodyBytes
    case .unauthenticated, .signed, .owner, .ownerProcess, .health, .page, .ownPage, .socket:
      Limits.smallBodyBytes
    }
  }

  /// True if it is for the relay's owner only. The control socket identifies the owner; elsewhere a
  /// session of the owner's page is needed.
  var needsOwner: Bool {
    switch self {
    case .owner: true
    case .ownerProcess(let call): call != .signIn
    case .unauthenticated, .signed, .upload, .health, .page, .ownPage, .socket: false
    }
  }

  /// True if the call reads a JSON body.
  var readsBody: Bool {
    switch self {
    case .unauthenticated(.createAccount), .unauthenticated(.join), .signed(.renameDevice),
      .signed(.save), .signed(.putRecord), .signed(.putSubscription), .signed(.missingChunks),
      .signed(.putWake), .signed(.verifyWake), .signed(.issuePairing), .owner(.createAccount),
      .owner(.issuePairing), .owner(.setPlan), .ownerProcess(.signIn):
      true
    case .unauthenticated(.time), .unauthenticated(.limits),
      .signed(.listDevices), .signed(.revokeDevice), .signed(.record), .signed(.changes),
      .signed(.listRecords), .signed(.deleteRecord),
      .signed(.events), .signed(.listZones), .signed(.deleteZone), .signed(.listSubscriptions),
      .signed(.subscription), .signed(.removeSubscription), .signed(.chunk), .signed(.renewChunk),
      .signed(.listWakes), .signed(.wake), .signed(.removeWake), .signed(.refused), .upload, .owner,
      .ownerProcess, .health, .page, .ownPage, .socket:
      false
    }
  }
}
