import Apps
import Changes
import Storage
import Tools

/// The causal histories of one account's records, and what they demand of the records in the end.
package final class Histories {
  private let timer: CausalHistory<TimerFact>
  private let settings: CausalHistory<SettingFact>
  private var notes: [RecordKey: CausalHistory<NoteFact>] = [:]
  private unowned let outside: Outside
  /// The most that any version of the timer counted: it never goes back.
  private var completedPomodoros: Int64 = 0

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
    timer.deviceMade(entry, insteadOf: before, on: device)
    completedPomodoros = max(
      completedPomodoros, TimerFacts(fields: entry.fields ?? [])?.completedPomodoros ?? 0)
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
    guard completed == completedPomodoros else {
      return "\(completed) pomodoros are counted, and not \(completedPomodoros)"
    }
    return nil
  }

  /// nil when every setting has a value that nobody replaced who had seen it: which of several is
  /// the resolver's affair, and all replicas agree on it.
  package func settingsDifference(_ fields: [UInt8]) -> String? {
    let shown = SettingFact.list(in: fields)
    let standing = settings.standing
    let isRight =
      shown.allSatisfy { standing.contains($0) }
      && standing.allSatisfy { fact in shown.contains { $0.name == fact.name } }
    guard isRight else {
      return "the settings are\n  \(lines(shown))\nand these stand:\n  \(lines(standing))"
    }
    return nil
  }

  /// nil when a note is as somebody left it who had seen all that came before, or as it was at
  /// first where nobody touched it. `fields`: nil where there is no such note.
  package func noteDifference(_ key: RecordKey, _ fields: [UInt8]?) -> String? {
    guard let history = notes[key] else {
      return fields == NotesApp.firstText() ? nil : "\(key.name) changed by itself"
    }
    guard let fields else {
      return history.mayBeGone
        ? nil : "\(key.name) is gone, and these stand:\n  \(lines(history.standing))"
    }
    let shown = NoteFact.list(in: fields)
    let isRight =
      shown.isEmpty ? history.count == 0 : shown.allSatisfy { history.standing.contains($0) }
    return isRight
      ? nil : "\(key.name) is\n  \(lines(shown))\nby this history:\n\(history.description)"
  }

  /// The notes that anybody touched.
  package var touchedNotes: [RecordKey] { notes.keys.sorted() }

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
