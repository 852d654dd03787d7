import LockstepApps
import LockstepModel
import LockstepSimulation
import LockstepStorage

/// Histories of one account's records, and the number of conflicts between their versions.
/// `Demands` derives the required records from them.
package final class Histories {
  private unowned let environment: SimulationEnvironment
  private var histories: [RecordKey: any RecordHistory] = [:]
  /// Greatest count in any version of the timer, by the entry that made it: it never decreases.
  private var completed: [Making: Int64] = [:]
  /// Number of conflicts of each record: two versions made without knowledge of one another.
  private(set) var conflicts: [RecordKey: Int] = [:]
  /// Records that may have come back: the relay had forgotten a deletion or a save of them.
  private(set) var maybeRevived: Set<RecordKey> = []

  /// True if the relay was restored from a backup.
  private(set) var wasRestored = false

  private struct Making: Hashable {
    var device: DeviceID
    var entry: Int64
  }

  /// Zones whose records are sealed: what was made on what is sealed in them.
  private let sealedZones: Set<Name>
  /// Texts that users wrote into each note, or that it had at first.
  private var texts: [RecordKey: Set<Int64>] = [:]

  package init(environment: SimulationEnvironment, sealedZones: Set<Name> = []) {
    self.environment = environment
    self.sealedZones = sealedZones
  }

  /// Number of deeds that users did.
  package var count: Int { recordKeys.reduce(0) { $0 + (histories[$1]?.count ?? 0) } }

  package private(set) var conflictCount = 0

  /// Keys of all records that were ever changed.
  var recordKeys: [RecordKey] { histories.keys.sorted() }

  subscript(_ key: RecordKey) -> (any RecordHistory)? { histories[key] }

  /// Greatest count of pomodoros in any version of the timer.
  var completedPomodoros: Int64 { completed.values.max() ?? 0 }

  /// Returns the history of a record; nil if no app of the simulation has its type.
  private func history(_ key: RecordKey, _ type: Name) -> (any RecordHistory)? {
    if let history = histories[key] { return history }
    let history: (any RecordHistory)? =
      switch type {
      // Sealed files are checked by `VaultKeeper`, whatever a writer without the key makes of them.
      case _ where key.zone == VaultApp.zone && SealedFiles.isSealed(key.name): nil
      case TimerApp.stateType: CausalHistory<TimerFact>(environment: environment)
      case TimerApp.settingsType:
        SettingsHistory(CausalHistory<SettingFact>(environment: environment))
      case FocusDay.type: FocusDayHistory()
      case TablesApp.type: TableHistory(rules: TablesApp.rules)
      case NotesApp.type:
        CausalHistory<NoteFact>(
          environment: environment, keepsOrder: sealedZones.contains(key.zone))
      case MemosApp.memoType:
        CausalHistory<MemoFact>(environment: environment, countsDeletions: true)
      case VaultApp.fileType:
        CausalHistory<FileFact>(environment: environment, countsDeletions: true)
      case HabitsApp.habitType:
        CausalHistory<HabitFact>(environment: environment, countsDeletions: true, asksPeople: true)
      case HabitsApp.checkInType: CheckInHistory()
      case ClipboardApp.itemType: StampedHistory()
      default: nil
      }
    histories[key] = history
    return history
  }
}

// Events of devices and relay. See `RecordHistory`.
extension Histories {
  /// Registers a version that a device made. `action`: the user action that made it just now; nil
  /// if no user acted.
  package func deviceMade(
    _ entry: OutboxEntry, insteadOf before: OutboxEntry?, by action: UserAction?,
    on device: DeviceID
  ) {
    let history = history(entry.key, entry.type)
    guard entry.key == TimerApp.stateKey, let timer = history as? CausalHistory<TimerFact> else {
      history?.deviceMade(entry, insteadOf: before, byPerson: action != nil, on: device)
      return
    }
    let making = Making(device: device, entry: entry.number)
    if let before,
      timer.isRewound(before, to: entry, on: device) || Histories.isTimeTakenBack(before, entry)
    {
      completed[making] = nil
    }
    timer.deviceMade(entry, insteadOf: before, byPerson: action != nil, on: device)
    let count = TimerFacts(fields: entry.fields ?? [])?.completedPomodoros ?? 0
    completed[making, default: 0].raise(to: count)
  }

  /// True if a countdown that had ended runs again because the device's clock was ahead.
  private static func isTimeTakenBack(_ before: OutboxEntry, _ entry: OutboxEntry) -> Bool {
    guard let ended = TimerFact.list(in: before.fields ?? []).first,
      let runs = TimerFact.list(in: entry.fields ?? []).first(where: { $0 == ended })
    else { return false }
    return runs.edit.timestamp < ended.edit.timestamp
  }

  package func deviceCounted(_ key: RecordKey, _ amount: Int64, on device: DeviceID) {
    let history = history(key, HabitsApp.checkInType) as? CheckInHistory
    history?.counted(amount, on: device)
  }

  package func deviceMerged(_ entry: OutboxEntry, into merged: OutboxEntry, on device: DeviceID) {
    histories[entry.key]?.deviceMerged(entry, into: merged, on: device)
  }

  package func deviceFolded(_ entry: OutboxEntry, on device: DeviceID) {
    histories[entry.key]?.deviceFolded(entry, on: device)
  }

  package func deviceBringsBack(_ entry: OutboxEntry, on device: DeviceID) {
    history(entry.key, entry.type)?.deviceBringsBack(entry, on: device)
  }

  package func deviceSavesAgain(_ entry: OutboxEntry, on device: DeviceID) {
    history(entry.key, entry.type)?.deviceSavesAgain(entry, on: device)
  }

  package func deviceWithdrew(_ entry: OutboxEntry, isDoneByOthers: Bool, on device: DeviceID) {
    histories[entry.key]?.deviceWithdrew(entry, isDoneByOthers: isDoneByOthers, on: device)
    guard entry.key == TimerApp.stateKey else { return }
    completed[Making(device: device, entry: entry.number)] = nil
  }

  package func deviceDecided(
    _ key: RecordKey, _ server: Record, made: OutboxEntry?, on device: DeviceID
  ) {
    histories[key]?.deviceDecided(server, made: made, on: device)
  }

  /// Registers that the device was signed out: only the device loses what it never sent to the
  /// relay. `saved`: the records at the relay.
  package func deviceRevoked(_ device: DeviceID, saved: [Record]) {
    for key in recordKeys {
      histories[key]?.deviceRevoked(device, saved: saved.first { $0.key == key })
    }
    for making in completed.keys.filter({ $0.device == device }) { completed[making] = nil }
    let counted = saved.first { $0.key == TimerApp.stateKey }
      .flatMap { TimerFacts(fields: $0.fields ?? [])?.completedPomodoros }
    completed[Making(device: device, entry: 0), default: 0].raise(to: counted ?? 0)
  }

  package func deviceAsked(_ key: RecordKey, _ server: Record, on device: DeviceID) {
    histories[key]?.deviceAsked(tag: server.tag, on: device)
  }

  /// Registers that a device holds a version from the relay, in place of `held`.
  package func deviceRead(_ record: Record, insteadOf held: Record?, on device: DeviceID) {
    let isAsHeld = held.map { ($0.fields, $0.modifiedAt) == (record.fields, record.modifiedAt) }
    histories[record.key]?.deviceRead(
      tag: record.tag, isDeleted: record.isDeleted, isAsHeld: isAsHeld ?? false, on: device)
  }

  /// Registers a conflict between two versions of the record on a device.
  package func deviceConflicted(_ key: RecordKey) {
    conflicts[key, default: 0] += 1
    conflictCount += 1
  }

  /// Adds a record that existed before the simulation began.
  package func addInitial(_ record: Record) {
    history(record.key, record.type)?.addInitial(record)
    for fact in NoteFact.list(in: record.fields ?? []) where record.type == NotesApp.type {
      userWrites(fact.text, into: record.key)
    }
  }

  package func relaySaved(_ record: Record, baseTag: ChangeTag?) {
    history(record.key, record.type)?.relaySaved(record, baseTag: baseTag)
  }

  /// Registers that the relay has put a version of a sealed zone in place again that it had before
  /// under this tag.
  func relayRepeated(_ record: Record, of tag: ChangeTag) {
    histories[record.key]?.relayRepeated(record.tag, of: tag)
  }

  /// True if the order of the zone's versions is sealed in them, so that tags mean nothing.
  func isSealed(_ zone: Name) -> Bool { sealedZones.contains(zone) }

  /// Registers a text that a user writes into a note.
  func userWrites(_ text: Int64, into key: RecordKey) { texts[key, default: []].insert(text) }

  /// True if a user has written the text in these fields into this very note.
  func isWritten(_ fields: [UInt8]?, in key: RecordKey) -> Bool {
    guard let fields else { return true }
    let facts = NoteFact.list(in: fields)
    return !facts.isEmpty && facts.allSatisfy { texts[key]?.contains($0.text) == true }
  }

  package func relayForgotSave(_ mutation: Mutation, in save: SaveCommit) {
    let key = RecordKey(zone: save.request.zone, name: mutation.name)
    histories[key]?.relayForgotSave(mutation, by: save.device)
    maybeRevived.insert(key)
  }

  package func relayForgotDeletion(of key: RecordKey) { maybeRevived.insert(key) }

  package func relayLost(isBlind: Bool, _ isLost: (ChangeTag) -> Bool) {
    wasRestored = true
    for key in recordKeys { histories[key]?.relayLost(isBlind: isBlind, isLost) }
  }
}

extension Int64 {
  fileprivate mutating func raise(to other: Int64) { self = Swift.max(self, other) }
}
