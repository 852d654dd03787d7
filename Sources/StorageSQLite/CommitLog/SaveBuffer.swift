import LockstepModel
import LockstepStorage

/// Saves that the commit log holds and the database lacks, and the state that the next save is
/// decided on: the positions of accounts that have saved lately, and the records with these saves
/// applied.
struct SaveBuffer {
  /// Position of an account, and the space that it has left: at least that much, because old
  /// batches and tombstones are forgotten meanwhile.
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

  private struct BatchKey: Hashable {
    var account: AccountID
    var device: DeviceID
    var id: BatchID
  }

  /// In the order in which they were decided.
  private(set) var saves: [LoggedSave] = []
  private(set) var netEffect = MergedSaves()
  /// Bytes of the records.
  private var bytes = 0
  private var accounts: [AccountID: Account] = [:]
  private var batches: Set<BatchKey> = []
  /// Accounts that have saves only since `removeNewAccounts` was last called.
  private var newAccounts: [AccountID] = []

  var isEmpty: Bool { saves.isEmpty }

  /// True if the database must take the saves before there are more.
  var isFull: Bool {
    saves.count >= Limits.bufferedSaves || bytes >= Limits.bufferedSaveBytes
  }

  /// True if there are enough of them for an idle period.
  var isWorthFlushing: Bool {
    saves.count >= Limits.bufferedSavesAtRest || bytes >= Limits.bufferedSaveBytes / 4
  }

  func account(_ id: AccountID) -> Account? { accounts[id] }

  mutating func keep(_ account: Account, of id: AccountID) {
    if saves.isEmpty, accounts.count >= Limits.bufferedSaves { accounts = [:] }
    accounts[id] = account
  }

  func record(_ name: Name, in commit: SaveCommit) -> HeldRecord? {
    let place = StoredRecordKey(account: commit.account, zone: commit.request.zone, name: name)
    return netEffect.index(of: place).map {
      HeldRecord(existing: ExistingRecord(netEffect.records[$0].record), row: .buffered($0))
    }
  }

  /// True if a buffered save has the batch's id.
  func hasBatch(of commit: SaveCommit) -> Bool {
    batches.contains(
      BatchKey(account: commit.account, device: commit.device, id: commit.request.id))
  }

  /// Adds a save. `account`: its account after the save.
  mutating func append(_ save: LoggedSave, _ account: Account) {
    for item in save.items { bytes += Int(clamping: item.record.storedBytes) }
    batches.insert(BatchKey(account: save.account, device: save.device, id: save.batch))
    accounts[save.account] = account
    if netEffect.append(save) { newAccounts.append(save.account) }
    saves.append(save)
  }

  /// Returns the accounts that have saves only since this was last called.
  mutating func removeNewAccounts() -> [AccountID] {
    defer { newAccounts = [] }
    return newAccounts
  }

  /// Removes all saves: the database contains them. `areAccountsKnown`: what is known of accounts
  /// is right still, because nothing else was written.
  mutating func removeSaves(areAccountsKnown: Bool) {
    let accounts = areAccountsKnown && accounts.count <= Limits.bufferedSaves ? accounts : [:]
    self = SaveBuffer()
    self.accounts = accounts
  }

  /// Removes the last saves, except for `count`, and what is known of accounts: the rest must be
  /// flushed before there are more.
  mutating func removeLast(keeping count: Int) {
    accounts = [:]
    guard count < saves.count else { return }
    saves.removeLast(saves.count - count)
    netEffect = MergedSaves(saves)
  }
}
