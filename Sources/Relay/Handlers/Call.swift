import LockstepModel
import LockstepWire

/// A call of the protocol, as path and method name it.
enum Call: Hashable, Sendable {
  /// Anyone may make it.
  case guest(UnauthenticatedCall)
  /// Only a signed-in device may.
  case signed(SignedCall)
  /// Only the relay's owner may.
  case owner(AdminCall)
  /// A signed-in device sends a chunk of a file, which is written as it comes.
  case upload(ChunkHash)
  /// What supervisors ask about the process.
  case health(HealthCall)
  /// A browser loads a page, or what belongs to one.
  case page(PageFile)
  /// An upgrade to WebSocket; a device may sign in before or behind it.
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
  case changes(FetchQuery)
  /// A stream; `Last-Event-ID` goes before `since`.
  case events(since: ChangeToken?)
  case listZones(after: Name?, limit: Int)
  case deleteZone(Name, through: ChangeToken?)
  case listSubscriptions
  case subscription(Name)
  case putSubscription(Name)
  case removeSubscription(Name)
  case chunk(ChunkHash)
  /// Asks for it, so that it is kept.
  case keepChunk(ChunkHash)
  case missingChunks
  /// Something is wrong with its path or its query.
  case refused(Refusal)
}

extension SignedCall {
  /// Whether it is of use only where the account's plan has a zone. Devices may always be managed,
  /// and a save may be asked about that was made before.
  var needsPlan: Bool {
    switch self {
    case .issuePairing, .listDevices, .renameDevice, .revokeDevice, .save, .refused: false
    case .record, .changes, .events, .listZones, .deleteZone, .listSubscriptions,
      .subscription, .putSubscription, .removeSubscription, .chunk, .keepChunk, .missingChunks:
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
  /// The most bytes of a body that are taken.
  var bodyLimit: Int {
    switch self {
    case .signed(.save): Limits.batchBytes
    case .signed(.putSubscription): Limits.subscriptionBytes
    case .signed(.missingChunks): Limits.chunkHashesBytes
    // What is wrong is said whatever comes behind it.
    case .upload, .signed(.refused): Limits.chunkBytes
    case .owner(.setPlan): Limits.planBodyBytes
    case .guest, .signed, .owner, .health, .page, .socket: Limits.smallBodyBytes
    }
  }

  /// Whether the call reads a body of JSON.
  var readsBody: Bool {
    switch self {
    case .guest(.createAccount), .guest(.join), .signed(.renameDevice), .signed(.save),
      .signed(.putSubscription), .signed(.missingChunks), .owner(.makeAccount), .owner(.setPlan):
      true
    case .guest(.time), .guest(.limits), .signed(.issuePairing), .signed(.listDevices),
      .signed(.revokeDevice), .signed(.record), .signed(.changes), .signed(.events),
      .signed(.listZones), .signed(.deleteZone), .signed(.listSubscriptions),
      .signed(.subscription), .signed(.removeSubscription), .signed(.chunk), .signed(.keepChunk),
      .signed(.refused), .upload, .owner, .health, .page, .socket:
      false
    }
  }
}
