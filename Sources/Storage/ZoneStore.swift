import LockstepModel

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
  /// The device is signed out, and all pairing codes of the account end: it may have made some.
  case revokeDevice(AccountID, DeviceID)
  /// When devices were last heard of.
  case touchDevices([DeviceSighting])
  /// Writes what changes nothing: shows whether the store takes what is written to it again.
  case proveWritable
  case save(SaveCommit)
  /// Makes a tombstone of each live record of the zone, or only of those that `through` covers: of
  /// the first ones, and what is left is asked for by `ZoneDeletion.rest`.
  case deleteZone(AccountID, DeviceID, Name, through: ChangeToken?)
  /// Goes on with that.
  case deleteZoneRest(AccountID, DeviceID, Name, ZonePortion)
  /// Makes or replaces the device's subscription of that id.
  case putSubscription(AccountID, DeviceID, Subscription)
  case removeSubscription(AccountID, DeviceID, Name)
  case setPlan(AccountID, Plan)
  /// All of the account goes: its devices at once, records and chunks of files in portions. Asked
  /// again until the result is no longer `removing`, also after a crash.
  case removeAccount(AccountID)
  /// The file holds the bytes of this hash, whole and checked: from here on the account has the
  /// chunk, in this file. `bytes`: its length.
  case addChunk(AccountID, ChunkHash, ChunkFile, bytes: Int)
  /// The account will soon save a record that names these chunks: those that are there stay for
  /// another `chunkLeaseMilliseconds`.
  case renewChunks(AccountID, [ChunkHash])
  /// These files stand, whole: what was doubted of the chunks in them since an older copy of the
  /// store was put back is doubted no more.
  case vouchForChunks([ChunkFile])
  /// These files are gone, or not whole: the chunks in them are told as lacking until they come
  /// again.
  case doubtChunks([ChunkFile])
  /// Forgets chunks that no record names and whose lease is over, at most so many. Their files are
  /// removed afterwards, by whoever asked.
  case collectChunks(atMost: Int)
}

extension CommitRequest {
  /// Whether its result may leave some of it undone.
  public var hasPortions: Bool {
    switch self {
    case .deleteZone, .deleteZoneRest, .removeAccount: true
    case .createAccount, .issuePairing, .redeemPairing, .renameDevice, .revokeDevice,
      .touchDevices, .proveWritable, .save, .putSubscription, .removeSubscription, .setPlan,
      .addChunk, .renewChunks, .vouchForChunks, .doubtChunks, .collectChunks:
      false
    }
  }

  /// What is to be asked next, until nothing of the request is left undone; nil where it is done.
  public func rest(after result: CommitResult) -> CommitRequest? {
    switch (self, result) {
    case (.deleteZone(let account, let device, let zone, _), .zoneDeleted(let deletion)),
      (.deleteZoneRest(let account, let device, let zone, _), .zoneDeleted(let deletion)):
      deletion.rest.map { .deleteZoneRest(account, device, zone, $0) }
    case (.removeAccount, .removing): self
    default: nil
    }
  }

  /// How many old batches, and as many old tombstones and codes, a commit forgets for this request.
  /// What is asked now and then anyway forgets more, so that a store which rests catches up.
  package var forgets: Int {
    if case .collectChunks(let count) = self {
      return max(Limits.forgottenPerRequest, min(count, Limits.collectedChunks))
    }
    return Limits.forgottenPerRequest
  }
}

/// Names the file of one chunk in a `ChunkStore`: a random number, never used twice, so that the
/// removal of an old file never meets a new one of the same bytes.
public struct ChunkFile: Hashable, Comparable, Sendable {
  public var account: AccountID
  public var number: UInt64

  public init(account: AccountID, number: UInt64) {
    self.account = account
    self.number = number
  }

  public static func < (left: ChunkFile, right: ChunkFile) -> Bool {
    (left.account, left.number) < (right.account, right.number)
  }
}

/// What a store knows of a `ChunkFile`.
public enum FileUse: Hashable, Sendable {
  /// It holds nothing that an account has.
  case none
  /// It holds a chunk of which the account is told that it is lacking, since an older copy of the
  /// store was put back, and the file may have been removed meanwhile.
  case doubted
  case sure
}

/// A chunk that an account has.
public struct StoredChunk: Hashable, Sendable {
  public var file: ChunkFile
  /// Its length.
  public var bytes: Int

  public init(file: ChunkFile, bytes: Int) {
    self.file = file
    self.bytes = bytes
  }
}

/// What a relay's owner may set, and every store keeps to.
public struct StoreRules: Sendable, Hashable {
  /// How long tombstones and batch ids are kept, in milliseconds. A device that was away for longer
  /// reads a snapshot.
  public var historyMilliseconds = Limits.historyMilliseconds
  /// Bytes of chunks of files that one account may keep.
  public var chunkBytesPerAccount = Limits.chunkBytesPerAccount
  /// Bytes of records, tombstones and remembered batches that one account may keep, as
  /// `AccountUse` counts them, unless its plan says otherwise; records, tombstones among them; and
  /// batches that are remembered.
  public var recordBytesPerAccount = Limits.recordBytesPerAccount
  public var recordsPerAccount = Limits.recordsPerAccount
  public var batchesPerAccount = Limits.batchesPerAccount
  /// How long a chunk that no record names is kept, in milliseconds.
  public var chunkLeaseMilliseconds = Limits.chunkLeaseMilliseconds
  /// Records, tombstones, batches and chunks that one commit deletes of a zone or an account.
  public var deletedPerCommit = Limits.deletedPerCommit
  /// Devices of one account; those that are there stay where there are more.
  public var devicesPerAccount = Limits.devicesPerAccount

  public init() {}
}

public struct NewDevice: Sendable, Hashable {
  public var id: DeviceID
  public var description: DeviceDescription
  /// SHA-256 of the device's token. The token itself is never stored.
  public var tokenHash: [UInt8]
  /// The account whose data the device holds already: it joins no other. nil: it holds none.
  public var expectedAccount: AccountID?

  public init(
    id: DeviceID, description: DeviceDescription, tokenHash: [UInt8],
    expectedAccount: AccountID? = nil
  ) {
    self.id = id
    self.description = description
    self.tokenHash = tokenHash
    self.expectedAccount = expectedAccount
  }

  public func mayJoin(_ account: AccountID) -> Bool {
    expectedAccount == nil || expectedAccount == account
  }
}

public struct NewPairing: Sendable, Hashable {
  /// SHA-256 of the code.
  public var codeHash: [UInt8]
  /// Relay time, milliseconds.
  public var expiresAt: Int64
  /// The device that asks for the code, which must still be one of the account's; nil where the
  /// relay's owner asks. A request that waits behind the device's own revocation makes no code.
  public var issuer: DeviceID?

  public init(codeHash: [UInt8], expiresAt: Int64, issuer: DeviceID? = nil) {
    self.codeHash = codeHash
    self.expiresAt = expiresAt
    self.issuer = issuer
  }
}

public struct DeviceSighting: Sendable, Hashable {
  public var account: AccountID
  public var device: DeviceID
  /// Relay time, milliseconds. An older one than is stored changes nothing.
  public var lastSeen: Int64
  /// Whether it is connected to the relay that says so. A store that several relays share tells the
  /// others, until it has not been said for `Limits.connectedMilliseconds`.
  public var isConnected: Bool

  public init(account: AccountID, device: DeviceID, lastSeen: Int64, isConnected: Bool = false) {
    self.account = account
    self.device = device
    self.lastSeen = lastSeen
    self.isConnected = isConnected
  }
}

/// A batch of a signed-in device.
public struct SaveCommit: Sendable, Hashable {
  public var account: AccountID
  public var device: DeviceID
  public var request: SaveRequest
  /// SHA-256 over the batch's content, to tell a retry from another batch under the same id.
  public var digest: [UInt8]
  /// What the account's plan has against it. Such a batch is answered only where it was saved
  /// already, so that a device whose answer got lost learns of it.
  public var unlessKnown: Refusal?

  public init(
    account: AccountID, device: DeviceID, request: SaveRequest, digest: [UInt8],
    unlessKnown: Refusal? = nil
  ) {
    self.account = account
    self.device = device
    self.request = request
    self.digest = digest
    self.unlessKnown = unlessKnown
  }
}

public enum CommitResult: Sendable, Hashable {
  case done
  /// The account of the code that was spent.
  case redeemed(AccountID)
  case saved(SaveOutcome)
  case zoneDeleted(ZoneDeletion)
  /// The account's devices are turned away, and a part of what it had is gone.
  case removing
  /// All of the device's subscriptions as they stand now. `isNew`: there was none of that id.
  case subscribed([Subscription], isNew: Bool)
  /// The account has the chunk from here on.
  case chunkAdded
  /// The account had the chunk already, in a file that is not needed any more. `wasLacking`: it was
  /// told as lacking.
  case chunkReplaced(ChunkFile, wasLacking: Bool)
  /// How long the chunks are, by their place in the question; nil: the account has no such chunk.
  case renewed(bytes: [Int?])
  /// Files that nobody needs any more.
  case collected([ChunkFile])
  /// The request could not be done, and left no trace.
  case refused(Refusal)
}

public struct SaveOutcome: Sendable, Hashable {
  public var answer: SaveAnswer
  /// The records as they now stand, for those who watch; empty where nothing changed (a retry, or
  /// conflicts only).
  public var changed: [Record]
  /// What happened to each of them, by its place in `changed`.
  public var events: [ChangeEvents]

  public init(answer: SaveAnswer, changed: [Record], events: [ChangeEvents]) {
    self.answer = answer
    self.changed = changed
    self.events = events
  }
}

/// What the relay asks to be told.
public enum ReadRequest: Sendable, Hashable {
  /// Who holds this token? (SHA-256 of it.)
  case authenticate(tokenHash: [UInt8])
  /// Names of zones with at least one live record, in order, after the one named.
  case zones(AccountID, after: Name?, limit: Int)
  case chunk(AccountID, ChunkHash)
  /// Accounts by id, after the one named, for the relay's owner.
  case accounts(after: AccountID?, limit: Int)
  case account(AccountID)
  /// Do these files hold a chunk that an account has? For the sweep of the relay's start.
  case fileUses([ChunkFile])
  /// Changes after `since`, oldest first, or the snapshot without one; at most `limit` records and
  /// `Limits.pageBytes` (but one record at least). With `zone`, of that zone alone.
  case changes(AccountID, since: ChangeToken?, zone: Name?, limit: Int)
  case record(AccountID, RecordKey)
  case newestToken(AccountID)
  case devices(AccountID)
  case accountCount
  /// Where these accounts stand, for a relay that shares its store with others: what they tell it
  /// may get lost.
  case movements([AccountID])
}

public enum ReadResult: Sendable, Hashable {
  case principal(Principal)
  /// `more`: there are further ones after the last.
  case zones([Name], more: Bool)
  case chunk(StoredChunk)
  case accounts([AccountSummary], more: Bool)
  case account(AccountSummary)
  /// By its place in the question.
  case fileUses([FileUse])
  case page(ChangePage)
  case record(Record)
  case token(ChangeToken)
  /// `connected` is false in all but those that another relay on the same store has told of: a
  /// relay knows of its own.
  case devices([Device])
  case count(Int)
  /// In any order; without those that are there no more.
  case movements([AccountVersion])
  /// Nothing of that name, or for an unknown token `badToken`, or 410 for a token that cannot be
  /// followed any more.
  case refused(Refusal)
}

/// Who a device token belongs to, and what the relay must know of him to serve him.
public struct Principal: Sendable, Hashable {
  public var account: AccountID
  public var device: DeviceID
  /// Where the account stands.
  public var newest: ChangeToken
  public var plan: Plan
  /// The device's, by id.
  public var subscriptions: [Subscription]
  /// The account's `AccountVersion.affairs`.
  public var affairs: Int64

  public init(
    account: AccountID, device: DeviceID, newest: ChangeToken, plan: Plan = .everything,
    subscriptions: [Subscription] = [], affairs: Int64 = 0
  ) {
    self.account = account
    self.device = device
    self.newest = newest
    self.plan = plan
    self.subscriptions = subscriptions
    self.affairs = affairs
  }
}

/// Where an account stands in a store that several relays share.
public struct AccountVersion: Sendable, Hashable {
  public var account: AccountID
  /// Its newest token.
  public var token: ChangeToken
  /// Grows with each change of its devices, its plan and what wakes them; 0 in a store that one
  /// relay has for itself.
  public var affairs: Int64

  public init(account: AccountID, token: ChangeToken, affairs: Int64) {
    self.account = account
    self.token = token
    self.affairs = affairs
  }
}

/// An account, as its relay's owner sees it.
public struct AccountSummary: Sendable, Hashable {
  public var id: AccountID
  /// What the owner calls it; empty where its first device made it.
  public var label: String
  public var plan: Plan
  /// Relay time, milliseconds since the Unix epoch.
  public var madeAt: Int64
  public var devices: Int
  public var newestTag: ChangeTag
  public var chunkBytes: Int64
  /// Of records, tombstones and remembered batches.
  public var recordBytes: Int64
  /// Tombstones among them.
  public var records: Int64

  public init(
    id: AccountID, label: String, plan: Plan, madeAt: Int64, devices: Int, newestTag: ChangeTag,
    chunkBytes: Int64, recordBytes: Int64 = 0, records: Int64 = 0
  ) {
    self.id = id
    self.label = label
    self.plan = plan
    self.madeAt = madeAt
    self.devices = devices
    self.newestTag = newestTag
    self.chunkBytes = chunkBytes
    self.recordBytes = recordBytes
    self.records = records
  }
}
