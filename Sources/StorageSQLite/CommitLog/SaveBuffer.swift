import LockstepModel
import LockstepStorage

/// Saves that the commit log holds and the database lacks, and what the next save has to know of
/// them: the accounts' positions, and the records as they are now.
struct SaveBuffer {
  /// Position of an account, and the space that it has left.
  struct Account {
    var head: AccountHead
    var available: AccountUse
    /// Devices that are known to belong to the account.
    var members: [DeviceID]
  }

  /// A record as it is now: in the database, or in a buffered save.
  struct HeldRecord {
    var existing: ExistingRecord?
    /// Its row in the database.
    var row: LoggedSave.Row
  }

  private struct BatchPlace: Hashable {
    var account: AccountID
    var device: DeviceID
    var id: BatchID
  }

  /// In the order in which they were decided.
  private(set) var saves: [LoggedSave] = []
  private(set) var netEffect = MergedSaves()
  /// Bytes of the records.
  private var bytes = 0
  /// True if saves were taken back: what is known of accounts and records is no longer right.
  private var isStale = false
  private var accounts: [AccountID: Account] = [:]
  private var batches: Set<BatchPlace> = []
  /// Accounts that have saves only since `takeNewAccounts` was last called.
  private var newAccounts: [AccountID] = []

  var isEmpty: Bool { saves.isEmpty }

  /// True if the database must take the saves before there are more.
  var isFull: Bool {
    isStale || saves.count >= Limits.bufferedSaves || bytes >= Limits.bufferedSaveBytes
  }

  /// True if the database may take them now that nothing waits.
  var isWorthFlushing: Bool {
    isStale || saves.count >= Limits.bufferedSavesAtRest || bytes >= Limits.bufferedSaveBytes / 4
  }

  func account(_ id: AccountID) -> Account? { accounts[id] }

  mutating func keep(_ account: Account, of id: AccountID) { accounts[id] = account }

  func record(_ name: Name, in commit: SaveCommit) -> HeldRecord? {
    let place = RecordPlace(account: commit.account, zone: commit.request.zone, name: name)
    return netEffect.index(of: place).map {
      HeldRecord(existing: ExistingRecord(netEffect.records[$0].record), row: .buffered($0))
    }
  }

  /// True if a buffered save has the batch's id.
  func hasBatch(of commit: SaveCommit) -> Bool {
    batches.contains(
      BatchPlace(account: commit.account, device: commit.device, id: commit.request.id))
  }

  /// Adds a save. `account`: its account after the save.
  mutating func append(_ save: LoggedSave, _ account: Account) {
    for item in save.items { bytes += Int(clamping: item.record.storedBytes) }
    batches.insert(BatchPlace(account: save.account, device: save.device, id: save.batch))
    accounts[save.account] = account
    if netEffect.append(save) { newAccounts.append(save.account) }
    saves.append(save)
  }

  mutating func takeNewAccounts() -> [AccountID] {
    defer { newAccounts = [] }
    return newAccounts
  }

  /// Takes the last saves back, and keeps `count`.
  mutating func takeBack(to count: Int) {
    guard count < saves.count else { return }
    saves.removeLast(saves.count - count)
    netEffect = MergedSaves(saves)
    isStale = true
  }
}

/// Place of a record in a relay's store.
struct RecordPlace: Hashable {
  var account: AccountID
  var zone: Name
  var name: Name
}

/// The net effect of several saves: each record in its last version, each account's last position.
struct MergedSaves {
  struct AccountChange {
    var id: AccountID
    var newest: ChangeTag
    var growth: AccountUse
  }

  struct ZoneChange {
    var account: AccountID
    var zone: Name
    var live: Int
  }

  struct RecordChange {
    var account: AccountID
    var record: Record
    /// Time at which it was deleted, if it is a tombstone.
    var deletedAt: Int64?
    var row: LoggedSave.Row
  }

  private struct ZonePlace: Hashable {
    var account: AccountID
    var zone: Name
  }

  /// In the order of their first save.
  private(set) var accounts: [AccountChange] = []
  private(set) var zones: [ZoneChange] = []
  private(set) var records: [RecordChange] = []
  private var accountIndex: [AccountID: Int] = [:]
  private var zoneIndex: [ZonePlace: Int] = [:]
  private var recordIndex: [RecordPlace: Int] = [:]

  init(_ saves: [LoggedSave] = []) {
    for save in saves { append(save) }
  }

  func index(of place: RecordPlace) -> Int? { recordIndex[place] }

  /// Adds a save. Returns true if it is the first one of its account.
  @discardableResult
  mutating func append(_ save: LoggedSave) -> Bool {
    if save.liveChange != 0 {
      let place = ZonePlace(account: save.account, zone: save.zone)
      let index = zoneIndex[place] ?? zones.count
      if index == zones.count {
        zoneIndex[place] = index
        zones.append(ZoneChange(account: save.account, zone: save.zone, live: 0))
      }
      zones[index].live += save.liveChange
    }
    for item in save.items { append(item, of: save) }
    if let index = accountIndex[save.account] {
      accounts[index].newest = save.newest
      accounts[index].growth += save.growth
      return false
    }
    accountIndex[save.account] = accounts.count
    accounts.append(AccountChange(id: save.account, newest: save.newest, growth: save.growth))
    return true
  }

  private mutating func append(_ item: LoggedSave.Item, of save: LoggedSave) {
    let record = item.record
    let deletedAt = record.isDeleted ? save.wall : nil
    var index: Int?
    if case .buffered(let known) = item.row {
      index = known
    } else {
      let place = RecordPlace(account: save.account, zone: record.zone, name: record.name)
      if let known = recordIndex.updateValue(records.count, forKey: place) {
        recordIndex[place] = known
        index = known
      }
    }
    if let index {
      records[index].record = record
      records[index].deletedAt = deletedAt
    } else {
      records.append(
        RecordChange(account: save.account, record: record, deletedAt: deletedAt, row: item.row))
    }
  }
}
