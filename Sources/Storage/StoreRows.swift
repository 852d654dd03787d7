import LockstepModel

/// Tables of a relay's store, with the same names in every kind of store, in the order in which
/// they are moved to another one.
package enum StoreTable: String, CaseIterable, Sendable {
  case accounts, lineage, gaps, devices, pairings, subscriptions, wakes
  case wakeKeys = "wake_keys"
  case zones, records, batches, chunks, departed
  case departedDevices = "departed_devices"
  case departedPairings = "departed_pairings"

  /// Tables with the rows of an account that moves to another store. Its registrations for wakes
  /// stay: they belong to the keys of the former relay.
  package static let ofAccount = allCases.filter { table in
    switch table {
    case .accounts, .lineage, .gaps, .devices, .pairings, .subscriptions, .zones, .records,
      .batches, .chunks:
      true
    case .wakes, .wakeKeys, .departed, .departedDevices, .departedPairings: false
    }
  }
}

/// Rows of one table in a format common to all stores, for moving a store. They contain everything
/// that a device can observe, and nothing specific to one kind of store.
///
/// Devices, pairings and batches keep their order of arrival.
package enum StoreRows: Hashable {
  case accounts([ExportedAccount])
  case lineage([EndedGeneration])
  case gaps([ExportedGap])
  case devices([ExportedDevice])
  case pairings([ExportedPairing])
  case subscriptions([ExportedSubscription])
  case wakes([ExportedWakes])
  case wakeKeys([WakeKey])
  case zones([LiveCount])
  case records([ExportedRecord])
  case batches([ExportedBatch])
  case chunks([ExportedChunk])
  case departed([ExportedDeparture])
  case departedDevices([DepartedDevice])
  case departedPairings([DepartedPairing])

  package var table: StoreTable {
    switch self {
    case .accounts: .accounts
    case .lineage: .lineage
    case .gaps: .gaps
    case .devices: .devices
    case .pairings: .pairings
    case .subscriptions: .subscriptions
    case .wakes: .wakes
    case .wakeKeys: .wakeKeys
    case .zones: .zones
    case .records: .records
    case .batches: .batches
    case .chunks: .chunks
    case .departed: .departed
    case .departedDevices: .departedDevices
    case .departedPairings: .departedPairings
    }
  }

  package var count: Int {
    switch self {
    case .accounts(let rows): rows.count
    case .lineage(let rows): rows.count
    case .gaps(let rows): rows.count
    case .devices(let rows): rows.count
    case .pairings(let rows): rows.count
    case .subscriptions(let rows): rows.count
    case .wakes(let rows): rows.count
    case .wakeKeys(let rows): rows.count
    case .zones(let rows): rows.count
    case .records(let rows): rows.count
    case .batches(let rows): rows.count
    case .chunks(let rows): rows.count
    case .departed(let rows): rows.count
    case .departedDevices(let rows): rows.count
    case .departedPairings(let rows): rows.count
    }
  }
}

package struct ExportedAccount: Hashable {
  package var id: AccountID
  package var head: AccountHead
  package var label: String
  package var plan: Plan
  /// Milliseconds since the Unix epoch.
  package var madeAt: Int64
  /// Sum over all its chunks.
  package var chunkBytes: Int64
  package var use: AccountUse
  /// Number of membership changes.
  package var version: Int64
  /// As in `AccountResidence`: nil if it lives in the store.
  package var movingUntil: Int64?
  /// Move with which it arrived; 0: none.
  package var move: UInt64

  package init(
    id: AccountID, head: AccountHead, label: String, plan: Plan, madeAt: Int64, chunkBytes: Int64,
    use: AccountUse = AccountUse(), version: Int64 = 0, movingUntil: Int64? = nil, move: UInt64 = 0
  ) {
    self.id = id
    self.head = head
    self.label = label
    self.plan = plan
    self.madeAt = madeAt
    self.chunkBytes = chunkBytes
    self.use = use
    self.version = version
    self.movingUntil = movingUntil
    self.move = move
  }
}

/// Earlier generation of an account, and the tag at which it ended.
package struct EndedGeneration: Hashable {
  package var account: AccountID
  package var generation: UInt32
  package var endedAt: ChangeTag

  package init(account: AccountID, generation: UInt32, endedAt: ChangeTag) {
    self.account = account
    self.generation = generation
    self.endedAt = endedAt
  }
}

package struct ExportedGap: Hashable {
  package var account: AccountID
  package var gap: TagGap

  package init(account: AccountID, gap: TagGap) {
    self.account = account
    self.gap = gap
  }
}

package struct ExportedDevice: Hashable {
  package var account: AccountID
  package var device: NewDevice
  package var scope: DeviceScope
  /// Milliseconds since the Unix epoch.
  package var lastSeen: Int64

  package init(
    account: AccountID, device: NewDevice, scope: DeviceScope = .everything, lastSeen: Int64
  ) {
    self.account = account
    self.device = device
    self.scope = scope
    self.lastSeen = lastSeen
  }
}

package struct ExportedPairing: Hashable {
  package var account: AccountID
  package var pairing: NewPairing

  package init(account: AccountID, pairing: NewPairing) {
    self.account = account
    self.pairing = pairing
  }
}

package struct ExportedSubscription: Hashable {
  package var account: AccountID
  package var device: DeviceID
  package var subscription: Subscription

  package init(account: AccountID, device: DeviceID, subscription: Subscription) {
    self.account = account
    self.device = device
    self.subscription = subscription
  }
}

/// Registrations of a device for wakes.
package struct ExportedWakes: Hashable {
  package var id: SleeperID
  package var wakes: DeviceWakes

  package init(id: SleeperID, wakes: DeviceWakes) {
    self.id = id
    self.wakes = wakes
  }
}

/// Number of live records of a zone.
package struct LiveCount: Hashable {
  package var account: AccountID
  package var zone: Name
  package var live: Int64

  package init(account: AccountID, zone: Name, live: Int64) {
    self.account = account
    self.zone = zone
    self.live = live
  }
}

package struct ExportedRecord: Hashable {
  package var account: AccountID
  package var record: Record
  /// Time at which the relay accepted the deletion, in milliseconds since the Unix epoch; nil for a
  /// live record.
  package var deletedAt: Int64?

  package init(account: AccountID, record: Record, deletedAt: Int64?) {
    self.account = account
    self.record = record
    self.deletedAt = deletedAt
  }
}

package struct ExportedBatch: Hashable {
  package var account: AccountID
  package var device: DeviceID
  package var id: BatchID
  /// Milliseconds since the Unix epoch.
  package var madeAt: Int64
  package var batch: RememberedBatch

  package init(
    account: AccountID, device: DeviceID, id: BatchID, madeAt: Int64, batch: RememberedBatch
  ) {
    self.account = account
    self.device = device
    self.id = id
    self.madeAt = madeAt
    self.batch = batch
  }
}

package struct ExportedChunk: Hashable {
  package var hash: ChunkHash
  package var stored: StoredChunk
  /// Number of records that name it.
  package var uses: Int64
  /// End of the lease, in milliseconds since the Unix epoch.
  package var leaseUntil: Int64
  /// True if its file may be gone: the chunk is reported as missing and accepted again.
  package var isUnverified: Bool

  package init(
    hash: ChunkHash, stored: StoredChunk, uses: Int64, leaseUntil: Int64, isUnverified: Bool
  ) {
    self.hash = hash
    self.stored = stored
    self.uses = uses
    self.leaseUntil = leaseUntil
    self.isUnverified = isUnverified
  }
}

package struct ExportedDeparture: Hashable {
  package var account: AccountID
  package var departure: Departure

  package init(account: AccountID, departure: Departure) {
    self.account = account
    self.departure = departure
  }
}

/// Token of a device of an account that has moved away.
package struct DepartedDevice: Hashable {
  package var account: AccountID
  package var tokenHash: [UInt8]

  package init(account: AccountID, tokenHash: [UInt8]) {
    self.account = account
    self.tokenHash = tokenHash
  }
}

/// Pairing code of an account that has moved away.
package struct DepartedPairing: Hashable {
  package var account: AccountID
  package var codeHash: [UInt8]
  /// Milliseconds since the Unix epoch.
  package var expiresAt: Int64

  package init(account: AccountID, codeHash: [UInt8], expiresAt: Int64) {
    self.account = account
    self.codeHash = codeHash
    self.expiresAt = expiresAt
  }
}

/// Amount of data in a relay's store: rows by table, tombstones, and bytes of chunks.
package struct StoreTotals: Hashable, Sendable {
  private var rows = [Int64](repeating: 0, count: StoreTable.allCases.count)
  /// Tombstones among the records.
  package var tombstones: Int64 = 0
  /// Bytes of all chunks of files.
  package var chunkBytes: Int64 = 0

  package init() {}

  package subscript(table: StoreTable) -> Int64 {
    get { rows[StoreTotals.place(table)] }
    set { rows[StoreTotals.place(table)] = newValue }
  }

  package var isEmpty: Bool { rows.allSatisfy { $0 == 0 } }

  package mutating func add(_ more: StoreRows) {
    self[more.table] += Int64(more.count)
    switch more {
    case .records(let records): tombstones += Int64(records.count { $0.record.isDeleted })
    case .chunks(let chunks): chunkBytes += chunks.reduce(0) { $0 + Int64($1.stored.bytes) }
    case .accounts, .lineage, .gaps, .devices, .pairings, .subscriptions, .wakes, .wakeKeys,
      .zones, .batches, .departed, .departedDevices, .departedPairings:
      break
    }
  }

  /// Returns a text for people on the first difference from `wanted`; nil if there is none.
  package func difference(from wanted: StoreTotals) -> String? {
    let parts =
      StoreTable.allCases.map { ($0.rawValue, self[$0], wanted[$0]) } + [
        ("tombstones", tombstones, wanted.tombstones),
        ("bytes of chunks", chunkBytes, wanted.chunkBytes),
      ]
    return parts.first { $0.1 != $0.2 }.map { "\($0.1) of \($0.2) \($0.0) are there" }
  }

  private static func place(_ table: StoreTable) -> Int {
    StoreTable.allCases.firstIndex(of: table) ?? 0
  }
}

/// Store that is read as a whole, to be moved: one consistent state, with exclusive access.
package protocol StoreSource: AnyObject {
  var totals: StoreTotals { get }
  /// True if the store was restored from an older copy and no relay has noticed yet. The moved
  /// store is then an older copy, too.
  var isOlderCopy: Bool { get }

  /// Returns the next rows, in the order of `StoreTable`: at least one, and at most a portion
  /// (`Limits.movedRows`, `Limits.movedBytes` and one row). Returns nil at the end.
  func next() throws(StorageError) -> StoreRows?

  /// Throws if another process has written to the store since the read began, or may have.
  func confirm() throws(StorageError)

  /// Marks the store as moved, without changing its content. A relay that is started on it anyway
  /// then treats it as an older copy: its accounts begin new generations, and devices upload what
  /// it lacks of the moved store. Otherwise two histories would have the same name.
  func retire() throws(StorageError)

  func close()
}

/// Store that is created as a whole from the content of another one. Before `finish` it cannot be
/// mistaken for a store.
package protocol StoreTarget: AnyObject {
  /// Adds rows, in the order of `StoreTable`.
  func insert(_ rows: StoreRows) throws(StorageError)

  /// Completes the store, durably. Throws if its content differs from `totals`. `isOlderCopy`: true
  /// if a relay has to treat it as an older copy.
  func finish(_ totals: StoreTotals, isOlderCopy: Bool) throws(StorageError)

  /// Removes the rows added so far, if possible.
  func abandon() throws(StorageError)

  func close()
}

/// Rows of one account that are read from a store.
package struct AccountSelection: Hashable, Sendable {
  package var account: AccountID
  package var tables: [StoreTable]

  package init(_ account: AccountID, tables: [StoreTable] = StoreTable.ofAccount) {
    self.account = account
    self.tables = tables
  }
}

/// Copy of one account that is written into a store in one transaction, beside others. It becomes
/// an arriving account.
package protocol AccountTarget: AnyObject {
  /// Adds rows, in the order of `StoreTable`.
  func insert(_ rows: StoreRows) throws(StorageError)

  /// Completes the copy, durably. Without it, nothing is left.
  func finish() throws(StorageError)

  func close()
}
