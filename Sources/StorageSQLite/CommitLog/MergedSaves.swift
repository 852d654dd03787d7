import LockstepModel
import LockstepStorage

/// A record's name within a store.
struct StoredRecordKey: Hashable {
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

  private struct ZoneKey: Hashable {
    var account: AccountID
    var zone: Name
  }

  /// In the order of their first save.
  private(set) var accounts: [AccountChange] = []
  private(set) var zones: [ZoneChange] = []
  private(set) var records: [RecordChange] = []
  private var accountIndex: [AccountID: Int] = [:]
  private var zoneIndex: [ZoneKey: Int] = [:]
  private var recordIndex: [StoredRecordKey: Int] = [:]

  init(_ saves: [LoggedSave] = []) {
    for save in saves { append(save) }
  }

  func index(of place: StoredRecordKey) -> Int? { recordIndex[place] }

  /// Adds a save. Returns true if it is the first one of its account.
  @discardableResult
  mutating func append(_ save: LoggedSave) -> Bool {
    if save.liveChange != 0 {
      let place = ZoneKey(account: save.account, zone: save.zone)
      let index = zoneIndex[place] ?? zones.count
      if index == zones.count {
        zoneIndex[place] = index
        zones.append(ZoneChange(account: save.account, zone: save.zone, live: 0))
      }
      zones[index].live &+= save.liveChange
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
      let place = StoredRecordKey(account: save.account, zone: record.zone, name: record.name)
      index = recordIndex[place]
      if index == nil { recordIndex[place] = records.count }
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
