import Apps
import Changes
import Simulation
import Storage
import Tools

/// The causal histories of one account's records, and what they demand of the records in the end.
package final class Histories {
  private let timer: CausalHistory<TimerFact>
  private let settings: CausalHistory<SettingFact>
  private var notes: [RecordKey: CausalHistory<NoteFact>] = [:]
  private unowned let outside: Outside
  /// The most that any version of the timer counted, by the entry that made it: it never goes back.
  private var completed: [Making: Int64] = [:]

  private struct Making: Hashable {
    var device: DeviceID
    var entry: Int64
  }

  package init(outside: Outside) {
    timer = CausalHistory(outside: outside)
    settings = CausalHistory(outside: outside)
    self.outside = outside
  }

  package var count: Int {
    notes.keys.sorted().reduce(timer.count + settings.count) { $0 + (notes[$1]?.count ?? 0) }
  }

  package func deviceMade(
    _ entry: OutboxEntry, insteadOf before: OutboxEntry?, on device: DeviceID
  ) {
    if entry.key == TimerApp.settingsKey {
      settings.deviceMade(entry, insteadOf: before, on: device)
    }
    if entry.key.zone == NotesApp.zone {
      note(entry.key).deviceMade(entry, insteadOf: before, on: device)
    }
    guard entry.key == TimerApp.stateKey else { return }
    let making = Making(device: device, entry: entry.number)
    if let before, timer.isRewound(before, to: entry, on: device) { completed[making] = nil }
    timer.deviceMade(entry, insteadOf: before, on: device)
    let count = TimerFacts(fields: entry.fields ?? [])?.completedPomodoros ?? 0
    completed[making, default: 0].raise(to: count)
  }

  /// See `CausalHistory.deviceBringsBack`.
  package func deviceBringsBack(_ entry: OutboxEntry, on device: DeviceID) {
    if entry.key == TimerApp.stateKey { timer.deviceBringsBack(entry, on: device) }
    if entry.key == TimerApp.settingsKey { settings.deviceBringsBack(entry, on: device) }
    if entry.key.zone == NotesApp.zone { note(entry.key).deviceBringsBack(entry, on: device) }
  }

  /// See `CausalHistory.deviceWithdrew`.
  package func deviceWithdrew(_ entry: OutboxEntry, on device: DeviceID) {
    if entry.key == TimerApp.settingsKey { settings.deviceWithdrew(entry, on: device) }
    if entry.key.zone == NotesApp.zone { note(entry.key).deviceWithdrew(entry, on: device) }
    guard entry.key == TimerApp.stateKey else { return }
    timer.deviceWithdrew(entry, on: device)
    completed[Making(device: device, entry: entry.number)] = nil
  }

  /// See `CausalHistory.relayLost`.
  package func relayLost(isBlind: Bool, _ isLost: (ChangeTag) -> Bool) {
    timer.relayLost(isBlind: isBlind, isLost)
    settings.relayLost(isBlind: isBlind, isLost)
    for key in everyNote { note(key).relayLost(isBlind: isBlind, isLost) }
  }

  /// A note that stood before the world began.
  package func stood(_ record: Record) {
    if record.zone == NotesApp.zone { note(record.key).stood(record) }
  }

  package func deviceTook(_ key: RecordKey, tag: ChangeTag, on device: DeviceID) {
    if key == TimerApp.stateKey { timer.deviceTook(tag: tag, on: device) }
    if key == TimerApp.settingsKey { settings.deviceTook(tag: tag, on: device) }
    if key.zone == NotesApp.zone { notes[key]?.deviceTook(tag: tag, on: device) }
  }

  package func relaySaved(_ record: Record, baseTag: ChangeTag?) {
    if record.key == TimerApp.stateKey { timer.relaySaved(record, baseTag: baseTag) }
    if record.key == TimerApp.settingsKey { settings.relaySaved(record, baseTag: baseTag) }
    if record.key.zone == NotesApp.zone {
      note(record.key).relaySaved(record, baseTag: baseTag)
    }
  }

  /// nil when the timer, whose fields these are, is what the rules demand.
  package func timerDifference(_ fields: [UInt8]) -> String? {
    let shown = TimerFact.list(in: fields)
    let doubtful = timer.doubtful.filter { shown.contains($0) }
    let expected = TimerFact.standing(timer.standing + doubtful)
    guard shown == expected else {
      return "the timer is\n  \(lines(shown))\nand not\n  \(lines(expected))\n"
        + "by this history:\n\(timer.description)"
    }
    let completed = TimerFacts(fields: fields)?.completedPomodoros ?? 0
    let greatest = self.completed.values.max() ?? 0
    guard completed == greatest else {
      return "\(completed) pomodoros are counted, and not \(greatest)"
    }
    return nil
  }

  /// nil when every setting has a value that nobody replaced who had seen it: which of several is
  /// the resolver's affair, and all replicas agree on it.
  package func settingsDifference(_ fields: [UInt8]) -> String? {
    let shown = SettingFact.list(in: fields)
    let standing = settings.standing
    let possible = standing + settings.doubtful
    let isRight =
      shown.allSatisfy { possible.contains($0) }
      && standing.allSatisfy { fact in shown.contains { $0.name == fact.name } }
    guard isRight else {
      return "the settings are\n  \(lines(shown))\nand these stand:\n  \(lines(standing))"
    }
    return nil
  }

  /// nil when a note is as somebody left it, or as it was at first, and nobody who had seen it left
  /// it otherwise. `fields`: nil where there is no such note.
  package func noteDifference(_ key: RecordKey, _ fields: [UInt8]?) -> String? {
    guard let history = notes[key] else { return nil }
    guard let fields else {
      return history.mayBeGone
        ? nil : "\(key.name) is gone, and these stand:\n  \(lines(history.standing))"
    }
    let shown = NoteFact.list(in: fields)
    let possible = history.standing + history.doubtful
    return !shown.isEmpty && shown.allSatisfy { possible.contains($0) }
      ? nil : "\(key.name) is\n  \(lines(shown))\nby this history:\n\(history.description)"
  }

  /// The notes that were ever there.
  package var everyNote: [RecordKey] { notes.keys.sorted() }

  private func note(_ key: RecordKey) -> CausalHistory<NoteFact> {
    if let history = notes[key] { return history }
    let history = CausalHistory<NoteFact>(outside: outside)
    notes[key] = history
    return history
  }

  private func lines<Fact: Deed>(_ facts: [Fact]) -> String {
    facts.map { "\($0)" }.joined(separator: "\n  ")
  }
}

extension Int64 {
  fileprivate mutating func raise(to other: Int64) { self = Swift.max(self, other) }
}
