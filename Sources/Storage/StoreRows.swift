import LockstepModel

/// Tables of a relay's store, with the same names in every kind of store, in the order in which
/// they are moved to another one.
package enum StoreTable: String, CaseIterable, Sendable {
  case accounts, lineage, gaps, devices, pairings, subscriptions, zones, records, batches, chunks
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
  case zones([LiveCount])
  case records([ExportedRecord])
  case batches([ExportedBatch])
  case chunks([ExportedChunk])

  package var table: StoreTable {
    switch self {
    case .accounts: .accounts
    case .lineage: .lineage
    case .gaps: .gaps
    case .devices: .devices
    case .pairings: .pairings
    case .subscriptions: .subscriptions
    case .zones: .zones
    case .records: .records
    case .batches: .batches
    case .chunks: .chunks
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
    case .zones(let rows): rows.count
    case .records(let rows): rows.count
    case .batches(let rows): rows.count
    case .chunks(let rows): rows.count
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

  package init(
    id: AccountID, head: AccountHead, label: String, plan: Plan, madeAt: Int64, chunkBytes: Int64,
    use: AccountUse = AccountUse()
  ) {
    self.id = id
    self.head = head
    self.label = label
    self.plan = plan
    self.madeAt = madeAt
    self.chunkBytes = chunkBytes
    self.use = use
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
  /// Milliseconds since the Unix epoch.
  package var lastSeen: Int64

  package init(account: AccountID, device: NewDevice, lastSeen: Int64) {
    self.account = account
    self.device = device
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
  package var isDoubtful: Bool

  package init(
    hash: ChunkHash, stored: StoredChunk, uses: Int64, leaseUntil: Int64, isDoubtful: Bool
  ) {
    self.hash = hash
    self.stored = stored
    self.uses = uses
    self.leaseUntil = leaseUntil
    self.isDoubtful = isDoubtful
  }
}
