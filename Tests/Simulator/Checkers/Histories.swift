import Apps
import Changes
import Storage
import Tools

/// The causal histories of one account's records, and what they demand of the records in the end.
package final class Histories {
  private let timer: CausalHistory<TimerFact>
  private let settings: CausalHistory<SettingFact>
  /// The most that any version of the timer counted: it never goes back.
  private var completedPomodoros: Int64 = 0

  package init(outside: Outside) {
    timer = CausalHistory(outside: outside)
    settings = CausalHistory(outside: outside)
  }

  package var count: Int { timer.count + settings.count }

  package func deviceMade(
    _ entry: OutboxEntry, insteadOf before: OutboxEntry?, on device: DeviceID
  ) {
    if entry.key == TimerApp.settingsKey {
      settings.deviceMade(entry, insteadOf: before, on: device)
    }
    guard entry.key == TimerApp.stateKey else { return }
    timer.deviceMade(entry, insteadOf: before, on: device)
    completedPomodoros = max(
      completedPomodoros, TimerFacts(fields: entry.fields ?? [])?.completedPomodoros ?? 0)
  }

  package func deviceTook(_ key: RecordKey, tag: ChangeTag, on device: DeviceID) {
    if key == TimerApp.stateKey { timer.deviceTook(tag: tag, on: device) }
    if key == TimerApp.settingsKey { settings.deviceTook(tag: tag, on: device) }
  }

  package func relaySaved(_ record: Record, baseTag: ChangeTag?) {
    if record.key == TimerApp.stateKey { timer.relaySaved(record, baseTag: baseTag) }
    if record.key == TimerApp.settingsKey { settings.relaySaved(record, baseTag: baseTag) }
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

  private func lines<Fact: Deed>(_ facts: [Fact]) -> String {
    facts.map { "\($0)" }.joined(separator: "\n  ")
  }
}
