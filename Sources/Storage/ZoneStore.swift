import Changes

/// The relay's durable side: accounts, devices, records and their order.
///
/// One writer calls `commit`; readers (`ZoneReader`) stand beside it and never wait for it.
public protocol ZoneStore: ZoneReader {
  /// Does all requests, in order, in one transaction, and returns only when it is durable: the
  /// results, one a request, in order. A request that fails alone leaves no trace and spares the
  /// others. Throws where nothing at all was done.
  ///
  /// `wall` is the relay's time, in milliseconds since the Unix epoch.
  func commit(_ requests: [CommitRequest], wall: Int64) throws(StorageError) -> [CommitResult]

  /// Does what would be in the way of a commit (moving the write-ahead log into the database). The
  /// driver calls it on the writer's thread when no request waits; a store that is never let rest
  /// does it by itself at a ceiling, at the price of one slow commit.
  func rest() throws(StorageError)
}

extension ZoneStore {
  public func rest() throws(StorageError) {}
}

/// A view of the committed state.
public protocol ZoneReader: AnyObject {
  func read(_ request: ReadRequest) throws(StorageError) -> ReadResult
}

/// What the relay asks to be written.
public enum CommitRequest: Sendable, Hashable {
  /// A new account. With a device, it is its first; without one (made by an administrator) a
  /// pairing code lets the first device in.
  case createAccount(
    AccountID, generation: UInt32, label: String, device: NewDevice?, pairing: NewPairing?)
  /// A code that lets one device in. At most `Limits.pairingCodesPerAccount` stand at a time; the
  /// oldest gives way.
  case issuePairing(AccountID, NewPairing)
  /// Spends a code: a new device of the account that issued it.
  case redeemPairing(codeHash: [UInt8], device: NewDevice)
  case renameDevice(AccountID, DeviceID, deviceName: String)
  case revokeDevice(AccountID, DeviceID)
  /// When devices were last heard of.
  case touchDevices([DeviceSighting])
  case save(SaveCommit)
}

public struct NewDevice: Sendable, Hashable {
  public var id: DeviceID
  public var description: DeviceDescription
  /// SHA-256 of the device's token. The token itself is never stored.
  public var tokenHash: [UInt8]

  public init(id: DeviceID, description: DeviceDescription, tokenHash: [UInt8]) {
    self.id = id
    self.description = description
    self.tokenHash = tokenHash
  }
}

public struct NewPairing: Sendable, Hashable {
  /// SHA-256 of the code.
  public var codeHash: [UInt8]
  /// Relay time, milliseconds.
  public var expiresAt: Int64

  public init(codeHash: [UInt8], expiresAt: Int64) {
    self.codeHash = codeHash
    self.expiresAt = expiresAt
  }
}

public struct DeviceSighting: Sendable, Hashable {
  public var account: AccountID
  public var device: DeviceID
  /// Relay time, milliseconds. An older one than is stored changes nothing.
  public var lastSeen: Int64

  public init(account: AccountID, device: DeviceID, lastSeen: Int64) {
    self.account = account
    self.device = device
    self.lastSeen = lastSeen
  }
}

/// A batch of a signed-in device.
public struct SaveCommit: Sendable, Hashable {
  public var account: AccountID
  public var device: DeviceID
  public var request: SaveRequest
  /// SHA-256 over the batch's content, to tell a retry from another batch under the same id.
  public var digest: [UInt8]

  public init(account: AccountID, device: DeviceID, request: SaveRequest, digest: [UInt8]) {
    self.account = account
    self.device = device
    self.request = request
    self.digest = digest
  }
}

public enum CommitResult: Sendable, Hashable {
  case done
  /// The account of the code that was spent.
  case redeemed(AccountID)
  case saved(SaveOutcome)
  /// The request could not be done, and left no trace.
  case refused(Refusal)
}

public struct SaveOutcome: Sendable, Hashable {
  public var answer: SaveAnswer
  /// The records as they now stand, for those who watch; empty where nothing changed (a retry, or
  /// conflicts only).
  public var changed: [Record]

  public init(answer: SaveAnswer, changed: [Record]) {
    self.answer = answer
    self.changed = changed
  }
}

/// What the relay asks to be told.
public enum ReadRequest: Sendable, Hashable {
  /// Who holds this token? (SHA-256 of it.)
  case authenticate(tokenHash: [UInt8])
  /// Changes after `since`, oldest first, or the snapshot without one; at most `limit` records and
  /// `Limits.pageBytes` (but one record at least). With `zone`, of that zone alone.
  case changes(AccountID, since: ChangeToken?, zone: Name?, limit: Int)
  case record(AccountID, RecordKey)
  case newestToken(AccountID)
  case devices(AccountID)
  case accountCount
}

public enum ReadResult: Sendable, Hashable {
  case principal(AccountID, DeviceID)
  case page(ChangePage)
  case record(Record)
  case token(ChangeToken)
  /// `connected` is false in all: only the relay knows.
  case devices([Device])
  case count(Int)
  /// Nothing of that name, or for an unknown token `badToken`, or 410 for a token that cannot be
  /// followed any more.
  case refused(Refusal)
}
