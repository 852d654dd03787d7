import LockstepModel

/// Durable state of a relay: accounts, devices, records and their order.
///
/// One writer calls `commit`. Readers (`ZoneReader`) run concurrently. A store may make a reader
/// wait for a commit if what it asks for was acknowledged and is still to be written where readers
/// find it.
@usableFromInline
package protocol ZoneStore: ZoneReader {
  /// Performs all requests, in order, in one transaction. Returns one result per request, in order,
  /// once the transaction is durable. A request that fails has no effect and does not affect the
  /// others. Throws if nothing at all was done.
  ///
  /// `wall`: the relay's time, in milliseconds since the Unix epoch.
  func commit(_ requests: [CommitRequest], wall: Int64) throws(StorageError) -> [CommitResult]

  /// Idle-time maintenance that would delay a commit: moves the write-ahead log into the database.
  /// The driver calls it on the writer's thread if no request waits. If it is never called, the
  /// store does the same within a commit once the log reaches its limit, and that commit is slow.
  func performMaintenance() throws(StorageError)
}

extension ZoneStore {
  @usableFromInline package func performMaintenance() throws(StorageError) {}
}

/// Read access to the committed state.
@usableFromInline
package protocol ZoneReader: AnyObject {
  func read(_ request: ReadRequest) throws(StorageError) -> ReadResult

  /// Runs `body`, whose reads were all requested before this call: they may share one view of the
  /// state, which contains all that was acknowledged before.
  func readTogether<Value>(_ body: () -> Value) -> Value
}

extension ZoneReader {
  @usableFromInline package func readTogether<Value>(_ body: () -> Value) -> Value { body() }
}

/// Write request of the relay.
@usableFromInline
package enum CommitRequest: Sendable, Hashable {
  /// Creates an account. `device` becomes its first device; without one (account made by an
  /// administrator), the pairing code admits the first device. Refused if another account has the
  /// same label (`AccountLabel`), unless it is empty. Accounts of older programs may share one.
  case createAccount(
    AccountID, generation: UInt32, label: String, device: NewDevice?, pairing: NewPairing?)
  /// Adds a code that admits one device. At most `Limits.pairingCodesPerAccount` are valid at a
  /// time; beyond that the oldest is dropped.
  case issuePairing(AccountID, NewPairing)
  /// Redeems a code: adds a device to the account that issued it.
  case redeemPairing(codeHash: [UInt8], device: NewDevice)
  case renameDevice(AccountID, DeviceID, deviceName: String)
  /// Signs the device out and ends all pairing codes of the account, because the device may have
  /// made some.
  case revokeDevice(AccountID, DeviceID)
  /// Updates the times at which devices were last seen.
  case touchDevices([DeviceSighting])
  /// Test write without effect: shows if the store accepts writes again.
  case checkWritable
  /// Indirect, since it is large and passed on often.
  indirect case save(SaveCommit)
  /// Makes a tombstone of each live record of the zone, or only of those that `through` covers. One
  /// commit deletes the first ones; `ZoneDeletion.rest` names those left for the next.
  case deleteZone(AccountID, DeviceID, Name, through: ChangeToken?)
  /// Continues that deletion.
  case deleteZoneRest(AccountID, DeviceID, Name, ZonePortion)
  /// Adds or replaces the device's subscription of that id.
  case putSubscription(AccountID, DeviceID, Subscription)
  case removeSubscription(AccountID, DeviceID, Name)
  case setPlan(AccountID, Plan)
  /// Removes the account: its devices at once, its records and chunks of files in portions.
  /// Repeated until the result is no longer `removing`, also after a crash.
  case removeAccount(AccountID)
  /// Adds a chunk to the account. The file contains the bytes of this hash, complete and verified.
  /// `bytes`: its length.
  case addChunk(AccountID, ChunkHash, ChunkFile, bytes: Int)
  /// Renews the lease of those of the chunks that exist, by `chunkLeaseMilliseconds`: the account
  /// will soon save a record that names them.
  case renewChunks(AccountID, [ChunkHash])
  /// Confirms that these files exist and are complete. Their chunks, unverified since an older copy
  /// of the store was restored, are verified then.
  case confirmChunks([ChunkFile])
  /// Reports that these files are gone or incomplete. Their chunks are reported as missing until
  /// they are uploaded again.
  case markChunksMissing([ChunkFile])
  /// Removes at most this many chunks that no record names and whose lease is over. The caller
  /// removes their files afterwards.
  case collectChunks(atMost: Int)
  /// Adds or replaces the device's registration of that id, for the relay's key of that time.
  /// `codeHash`: SHA-256 of the code that the device has to send back.
  indirect case putWake(
    AccountID, DeviceID, WakeRegistration, keyMadeAt: Int64, codeHash: [UInt8])
  case removeWake(AccountID, DeviceID, Name)
  case verifyWake(AccountID, DeviceID, Name, codeHash: [UInt8])
  /// Begins a wake of each of these devices for which one is due. At most
  /// `Limits.wakesPerRequest`. `keys`: those under which the relay sends.
  case claimWakes([SleeperID], keys: WakeKeyTimes)
  /// Reports what became of wakes. At most `Limits.wakesPerRequest`.
  case reportWakes([WakeReport])
  /// Adds a key of the relay, or only if there is none yet. If the store has a key that is not
  /// older, it is added as one that was made right after that one.
  case addWakeKey(WakeKey, onlyFirst: Bool)
  indirect case move(MoveStep)
}

extension CommitRequest {
  /// True if its result may leave a part of it undone.
  @usableFromInline
  package var hasPortions: Bool {
    switch self {
    case .deleteZone, .deleteZoneRest, .removeAccount: true
    case .move(let step): step.hasPortions
    case .createAccount, .issuePairing, .redeemPairing, .renameDevice, .revokeDevice,
      .touchDevices, .checkWritable, .save, .putSubscription, .removeSubscription, .setPlan,
      .addChunk, .renewChunks, .confirmChunks, .markChunksMissing, .collectChunks, .putWake,
      .removeWake, .verifyWake, .claimWakes, .reportWakes, .addWakeKey:
      false
    }
  }

  /// Returns the request for the part left undone, or nil if all of it is done.
  @usableFromInline
  package func rest(after result: CommitResult) -> CommitRequest? {
    switch (self, result) {
    case (.deleteZone(let account, let device, let zone, _), .zoneDeleted(let deletion)),
      (.deleteZoneRest(let account, let device, let zone, _), .zoneDeleted(let deletion)):
      deletion.rest.map { .deleteZoneRest(account, device, zone, $0) }
    case (.removeAccount, .removing), (.move, .removing): self
    default: nil
    }
  }

  /// Number of old batches that a commit prunes for this request, and of old tombstones and codes.
  /// The periodic `collectChunks` prunes more, so that an idle store catches up.
  package var prunedRows: Int {
    if case .collectChunks(let count) = self {
      return max(Limits.forgottenPerRequest, min(count, Limits.collectedChunks))
    }
    return Limits.forgottenPerRequest
  }
}

/// Name of one chunk's file in a `ChunkStore`: a random number, never used twice, so that removing
/// an old file never removes a new one of the same bytes.
@usableFromInline
package struct ChunkFile: Hashable, Comparable, Sendable {
  @usableFromInline package var account: AccountID
  @usableFromInline package var number: UInt64

  @usableFromInline
  package init(account: AccountID, number: UInt64) {
    self.account = account
    self.number = number
  }

  @usableFromInline
  package static func < (left: ChunkFile, right: ChunkFile) -> Bool {
    (left.account, left.number) < (right.account, right.number)
  }
}

/// Use of a `ChunkFile` according to the store.
@usableFromInline
package enum FileUse: Hashable, Sendable {
  /// The file contains no chunk of an account.
  case none
  /// The file contains a chunk that is reported as missing to its account: an older copy of the
  /// store was restored, and the file may have been removed in between.
  case unverified
  case verified
}

/// Chunk that an account has.
@usableFromInline
package struct StoredChunk: Hashable, Sendable {
  @usableFromInline package var file: ChunkFile
  /// Length in bytes.
  @usableFromInline package var bytes: Int

  @usableFromInline
  package init(file: ChunkFile, bytes: Int) {
    self.file = file
    self.bytes = bytes
  }
}

/// Rules that the relay's owner can set and every store applies.
@usableFromInline
package struct StoreRules: Sendable, Hashable {
  /// Retention of tombstones and batch ids, in milliseconds. A device that was away for longer
  /// reads a snapshot.
  @usableFromInline package var historyMilliseconds = Limits.historyMilliseconds
  /// Bytes of chunks of files that one account may have.
  @usableFromInline package var chunkBytesPerAccount = Limits.chunkBytesPerAccount
  /// Limits of one account: bytes of records, tombstones and remembered batches, as `AccountUse`
  /// counts them; number of records, including tombstones; number of remembered batches. The
  /// account's plan may override the first two.
  @usableFromInline package var recordBytesPerAccount = Limits.recordBytesPerAccount
  @usableFromInline package var recordsPerAccount = Limits.recordsPerAccount
  @usableFromInline package var batchesPerAccount = Limits.batchesPerAccount
  /// Retention of a chunk that no record names, in milliseconds.
  @usableFromInline package var chunkLeaseMilliseconds = Limits.chunkLeaseMilliseconds
  /// Records, tombstones, batches and chunks of a zone or an account that one commit deletes at
  /// most.
  @usableFromInline package var deletedPerCommit = Limits.deletedPerCommit
  /// Maximum number of devices of one account. If there already are more, they stay.
  @usableFromInline package var devicesPerAccount = Limits.devicesPerAccount

  @usableFromInline package init() {}
}

@usableFromInline
package struct NewDevice: Sendable, Hashable {
  @usableFromInline package var id: DeviceID
  @usableFromInline package var description: DeviceDescription
  /// SHA-256 of the device's token. The token itself is never stored.
  @usableFromInline package var tokenHash: [UInt8]
  /// Account whose data the device already holds; it may join no other. nil: it holds none.
  @usableFromInline package var expectedAccount: AccountID?

  @usableFromInline
  package init(
    id: DeviceID, description: DeviceDescription, tokenHash: [UInt8],
    expectedAccount: AccountID? = nil
  ) {
    self.id = id
    self.description = description
    self.tokenHash = tokenHash
    self.expectedAccount = expectedAccount
  }

  @usableFromInline
  package func mayJoin(_ account: AccountID) -> Bool {
    expectedAccount == nil || expectedAccount == account
  }
}

@usableFromInline
package struct NewPairing: Sendable, Hashable {
  /// SHA-256 of the code.
  @usableFromInline package var codeHash: [UInt8]
  /// Relay time in milliseconds.
  @usableFromInline package var expiresAt: Int64
  /// Device that requests the code and must still belong to the account; nil for the relay's owner.
  /// So a request queued behind the device's own revocation makes no code.
  @usableFromInline package var issuer: DeviceID?
  /// Scope of the device that joins with the code.
  @usableFromInline package var scope: DeviceScope
  /// Keys for the device that joins with the code, which the relay cannot read; nil: none. They are
  /// removed with the code, and no request reads them but its redemption.
  @usableFromInline package var wrapped: String?

  @usableFromInline
  package init(
    codeHash: [UInt8], expiresAt: Int64, issuer: DeviceID? = nil, scope: DeviceScope = .everything,
    wrapped: String? = nil
  ) {
    self.codeHash = codeHash
    self.expiresAt = expiresAt
    self.issuer = issuer
    self.scope = scope
    self.wrapped = wrapped
  }
}

@usableFromInline
package struct DeviceSighting: Sendable, Hashable {
  @usableFromInline package var account: AccountID
  @usableFromInline package var device: DeviceID
  /// Relay time in milliseconds. A time older than the stored one changes nothing.
  @usableFromInline package var lastSeen: Int64
  /// True if the device is connected to the reporting relay. A store shared by several relays
  /// reports this to the others, for `Limits.connectedMilliseconds` after the last report, and
  /// while the reporting relay runs, for `Limits.trustedReportMilliseconds`.
  @usableFromInline package var isConnected: Bool
  /// For a device that has registered for wakes; nil for others.
  @usableFromInline package var contact: WakeContact?

  package var sleeper: SleeperID { SleeperID(account: account, device: device) }

  @usableFromInline
  package init(
    account: AccountID, device: DeviceID, lastSeen: Int64, isConnected: Bool = false,
    contact: WakeContact? = nil
  ) {
    self.account = account
    self.device = device
    self.lastSeen = lastSeen
    self.isConnected = isConnected
    self.contact = contact
  }
}

/// Batch of a signed-in device.
@usableFromInline
package struct SaveCommit: Sendable, Hashable {
  @usableFromInline package var account: AccountID
  @usableFromInline package var device: DeviceID
  @usableFromInline package var request: SaveRequest
  /// SHA-256 over the batch's content. Distinguishes a retry from another batch under the same id.
  @usableFromInline package var digest: [UInt8]
  /// Refusal by the account's plan. Such a batch is answered only if it was saved before, so that a
  /// device that lost the answer gets it.
  @usableFromInline package var unlessKnown: Refusal?
  /// Refusal of each change that does anything but delete a live record: the store has no space for
  /// more. A tombstone takes no more space than its record did.
  @usableFromInline package var unlessDeleting: Refusal?

  @usableFromInline
  package init(
    account: AccountID, device: DeviceID, request: SaveRequest, digest: [UInt8],
    unlessKnown: Refusal? = nil, unlessDeleting: Refusal? = nil
  ) {
    self.account = account
    self.device = device
    self.request = request
    self.digest = digest
    self.unlessKnown = unlessKnown
    self.unlessDeleting = unlessDeleting
  }
}

@usableFromInline
package enum CommitResult: Sendable, Hashable {
  case done
  /// Account of the redeemed code, the scope of the device that has joined, and the wrapped keys
  /// that the code carried.
  case redeemed(AccountID, DeviceScope, wrapped: String? = nil)
  indirect case saved(SaveOutcome)
  case zoneDeleted(ZoneDeletion)
  /// The account's devices are signed out, and a part of its data is removed.
  case removing
  /// All current subscriptions of the device. `isNew`: true if none had that id before.
  case subscribed([Subscription], isNew: Bool)
  /// The account has the chunk from here on.
  case chunkAdded
  /// The account already had the chunk, in a file that is no longer needed. `wasLacking`: true if
  /// the chunk was reported as missing.
  case chunkReplaced(ChunkFile, wasLacking: Bool)
  /// Lengths of the chunks in bytes, in the order of the request; nil: the account has no such
  /// chunk.
  case renewed(bytes: [Int?])
  /// Files that are no longer needed.
  case collected([ChunkFile])
  /// `isVerified`: the same target was verified before, and needs no code.
  case wakePut(isNew: Bool, isVerified: Bool)
  /// The wakes that were begun, in the order of the request.
  case wakesClaimed([ClaimedWake])
  /// All keys of the relay, oldest first.
  case wakeKeys([WakeKey])
  /// Version at which the account is frozen.
  case frozen(AccountVersion)
  /// The request failed and had no effect.
  case refused(Refusal)
}

@usableFromInline
package struct SaveOutcome: Sendable, Hashable {
  @usableFromInline package var answer: SaveAnswer
  /// Changed records, for subscribers; empty if nothing changed (a retry, or conflicts only).
  @usableFromInline package var changed: [Record]
  /// Event of each record in `changed`, by index.
  @usableFromInline package var events: [ChangeEvents]

  @usableFromInline
  package init(answer: SaveAnswer, changed: [Record], events: [ChangeEvents]) {
    self.answer = answer
    self.changed = changed
    self.events = events
  }
}

/// Read request of the relay.
@usableFromInline
package enum ReadRequest: Sendable, Hashable {
  /// Looks up the device of a token. `tokenHash`: the token's SHA-256.
  case authenticate(tokenHash: [UInt8])
  /// Lists names of zones with at least one live record, in order, after the given one. `within`:
  /// the zones that the device may read; nil: all.
  case zones(AccountID, after: Name?, within: [Name]?, limit: Int)
  case chunk(AccountID, ChunkHash)
  /// Looks up chunks, as far as live records of these zones name them.
  case namedChunks(AccountID, [ChunkHash], zones: [Name])
  /// Lists accounts by id, after the given one, for the relay's owner.
  case accounts(after: AccountID?, limit: Int)
  case account(AccountID)
  /// Looks up the use of these files, for the sweep at the relay's start.
  case fileUses([ChunkFile])
  /// Reads the changes after `since`, oldest first, or without it the snapshot: at most `limit`
  /// records and `Limits.pageBytes` (but at least one record).
  case changes(AccountID, since: ChangeToken?, zones: ZoneSelection, limit: Int)
  case record(AccountID, RecordKey)
  case newestToken(AccountID)
  case devices(AccountID)
  case accountCount
  /// Lets the relays of a shared store announce commits of these accounts to a node of this one,
  /// no longer those of `leaving`, and then reads the versions of `accounts`: later commits are
  /// announced, and announcements can get lost.
  case followAccounts([AccountID], leaving: [AccountID], node: Int)
  /// Reads the device's registrations for wakes.
  case wakes(AccountID, DeviceID)
  /// Lists devices with registrations for wakes.
  case sleepers(SleeperQuery)
  case wakeKeys
  /// Looks up whether the account lives in this store, for a move.
  case residence(AccountID)
}

@usableFromInline
package enum ReadResult: Sendable, Hashable {
  case principal(Principal)
  /// `more`: true if there are names after the last.
  case zones([Name], more: Bool)
  case chunk(StoredChunk)
  /// In the order of the request; nil: no such record names it, or its file may be gone.
  case namedChunks([StoredChunk?])
  case accounts([AccountSummary], more: Bool)
  case account(AccountSummary)
  /// In the order of the request.
  case fileUses([FileUse])
  case page(ChangePage)
  case record(Record)
  case token(ChangeToken)
  /// `connected` is true only for devices reported by another relay on the same store: a relay
  /// knows its own connections.
  case devices([Device])
  case count(Int)
  /// In any order, without accounts that no longer exist. `relays`: the other relays that have
  /// lately used the store. `wasRegistered`: false if the store may have forgotten which accounts
  /// this relay follows, or has something that was announced to nobody.
  case accountVersions(
    [AccountVersion], relays: [RelaySighting] = [], wasRegistered: Bool = true)
  case wakes([WakeStatus])
  /// `next`: the last id that was read, if there may be more.
  case sleepers([Sleeper], next: SleeperID?)
  /// All keys of the relay, oldest first.
  case wakeKeys([WakeKey])
  case residence(AccountResidence)
  /// Unknown name; `badToken` for an unknown token; 410 for a change token that can no longer be
  /// followed.
  case refused(Refusal)
}

/// Another relay that uses the same store.
@usableFromInline
package struct RelaySighting: Sendable, Hashable {
  /// Number that identifies the relay's notices.
  @usableFromInline package var relay: UInt64
  /// Time of its last check of its accounts, in milliseconds of the store's clock.
  @usableFromInline package var seenAt: Int64

  @usableFromInline
  package init(relay: UInt64, seenAt: Int64) {
    self.relay = relay
    self.seenAt = seenAt
  }
}

/// Account and device of a token, with the data that the relay needs to serve the device.
@usableFromInline
package struct Principal: Sendable, Hashable {
  @usableFromInline package var account: AccountID
  @usableFromInline package var device: DeviceID
  @usableFromInline package var scope: DeviceScope
  /// Newest token of the account.
  @usableFromInline package var newest: ChangeToken
  @usableFromInline package var plan: Plan
  /// Subscriptions of the device, by id.
  @usableFromInline package var subscriptions: [Subscription]
  /// Value of the account's `AccountVersion.membershipVersion`.
  @usableFromInline package var membershipVersion: Int64
  /// True if the device has registered for wakes.
  @usableFromInline package var hasWakes: Bool

  @usableFromInline
  package init(
    account: AccountID, device: DeviceID, scope: DeviceScope = .everything, newest: ChangeToken,
    plan: Plan = .everything, subscriptions: [Subscription] = [], membershipVersion: Int64 = 0,
    hasWakes: Bool = false
  ) {
    self.account = account
    self.device = device
    self.scope = scope
    self.newest = newest
    self.plan = plan
    self.subscriptions = subscriptions
    self.membershipVersion = membershipVersion
    self.hasWakes = hasWakes
  }
}

/// Version of an account in a store that several relays share.
@usableFromInline
package struct AccountVersion: Sendable, Hashable {
  @usableFromInline package var account: AccountID
  /// Newest token of the account.
  @usableFromInline package var token: ChangeToken
  /// Incremented with each change of the account's devices, plan or subscriptions; 0 in a store
  /// that only one relay uses.
  @usableFromInline package var membershipVersion: Int64

  @usableFromInline
  package init(account: AccountID, token: ChangeToken, membershipVersion: Int64) {
    self.account = account
    self.token = token
    self.membershipVersion = membershipVersion
  }
}

/// Account as listed for the relay's owner.
@usableFromInline
package struct AccountSummary: Sendable, Hashable {
  @usableFromInline package var id: AccountID
  /// Label set by the owner; empty if the account was made by its first device.
  @usableFromInline package var label: String
  @usableFromInline package var plan: Plan
  /// Relay time, milliseconds since the Unix epoch.
  @usableFromInline package var madeAt: Int64
  @usableFromInline package var devices: Int
  @usableFromInline package var newestTag: ChangeTag
  @usableFromInline package var chunkBytes: Int64
  /// Bytes of records, tombstones and remembered batches.
  @usableFromInline package var recordBytes: Int64
  /// Number of records, including tombstones.
  @usableFromInline package var records: Int64
  /// Time at which a device was last seen, as far as the store knows; nil if there is no device.
  @usableFromInline package var lastSeen: Int64?
  /// True if it is a copy of an account that is being moved here, and does not work yet.
  @usableFromInline package var isArriving: Bool

  @usableFromInline
  package init(
    id: AccountID, label: String, plan: Plan, madeAt: Int64, devices: Int, newestTag: ChangeTag,
    chunkBytes: Int64, recordBytes: Int64 = 0, records: Int64 = 0, lastSeen: Int64? = nil,
    isArriving: Bool = false
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
    self.lastSeen = lastSeen
    self.isArriving = isArriving
  }
}
