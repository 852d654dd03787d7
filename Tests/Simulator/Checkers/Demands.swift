import LockstepApps
import LockstepModel
import LockstepSimulation
import LockstepStorage

/// Required records of one account at the end, each by the rule of its app. They follow from the
/// histories alone, without a resolver, agent or relay.
package struct Demands {
  private let histories: Histories
  /// Current records.
  private let current: (RecordKey) -> Record?

  package init(_ histories: Histories, current: @escaping (RecordKey) -> Record?) {
    self.histories = histories
    self.current = current
  }

  /// Number of conflicts, by result.
  package struct Judgement: Hashable {
    package var conflicts = 0
    /// Conflicts of records for which the model has a rule.
    package var judged = 0
    /// Conflicts of records that are as the rule demands.
    package var asDemanded = 0

    package mutating func add(_ other: Judgement) {
      conflicts += other.conflicts
      judged += other.judged
      asDemanded += other.asDemanded
    }
  }

  package func judgement() -> Judgement {
    var judgement = Judgement()
    judgement.conflicts = histories.conflictCount
    for key in histories.recordKeys {
      guard let conflicts = histories.conflicts[key] else { continue }
      judgement.judged += conflicts
      if difference(at: key) == nil { judgement.asDemanded += conflicts }
    }
    return judgement
  }

  /// Returns nil if all records are as they must be.
  package func difference() -> String? {
    histories.recordKeys.lazy.compactMap(difference(at:)).first ?? clipboardDifference()
  }

  /// Returns nil if the record is what its rule demands.
  package func difference(at key: RecordKey) -> String? {
    let fields = current(key)?.fields
    let difference: String? =
      switch histories[key] {
      case let history as CausalHistory<TimerFact>: timer(history, fields ?? [])
      case let history as SettingsHistory:
        settings(history.facts, fields ?? []) ?? history.table.difference(fields, copies: [])
      case let history as TableHistory: row(key, history, fields)
      case let history as CausalHistory<NoteFact>: note(history, fields)
      case let history as CausalHistory<MemoFact>: memo(key, history, fields)
      case let history as CausalHistory<FileFact>: file(key, history, fields)
      case let history as CausalHistory<HabitFact>: habit(key, history, fields)
      case let history as CheckInHistory: history.difference(fields)
      case let history as FocusDayHistory: history.difference(fields)
      case let history as StampedHistory: item(key, history, fields)
      // The record has no history.
      case nil: nil
      default: "has a history that nothing judges"
      }
    return difference.map { "\(Demands.title(of: key)) \($0)" }
  }

  private static func title(of key: RecordKey) -> String {
    switch key {
    case TimerApp.stateKey: "the timer"
    case TimerApp.settingsKey: "the settings:"
    default: "\(key.name) of \(key.zone)"
    }
  }

  private func lines<Fact>(_ facts: [Fact]) -> String {
    facts.isEmpty ? "nothing" : facts.map { "\($0)" }.joined(separator: "\n  ")
  }
}

extension Demands {
  private func timer(_ history: CausalHistory<TimerFact>, _ fields: [UInt8]) -> String? {
    // A change that time made is the act whose countdown ended, whatever a program makes of it.
    let shown = TimerFact.list(in: fields).map { fact in
      TimerFact(deviceID: fact.deviceID, act: history.origin(of: fact).act, edit: fact.edit)
    }
    let doubtful = history.doubtful.filter { shown.contains($0) }
    // An act that was dropped may be in effect or not, and so may one that is too old beside the
    // newest.
    let newest = history.standing.map(\.act.timestamp).max() ?? 0
    let standing = history.standing.filter { fact in
      let isDemanded =
        newest - fact.act.timestamp <= TimerResolver.concurrencyMilliseconds
        && !history.releasedDeeds.contains(fact)
      return isDemanded || shown.contains(fact)
    }
    let expected = TimerFact.candidates(standing + doubtful, shown: shown)
    guard shown == expected || Demands.isShort(history, until: newest, shown) else {
      return "is\n  \(lines(shown))\nand not\n  \(lines(expected))\n"
        + "by this history:\n\(history.description)"
    }
    let completed = TimerFacts(fields: fields)?.completedPomodoros ?? 0
    let greatest = histories.completedPomodoros
    return completed == greatest
      ? nil : "counts \(completed) pomodoros, and not \(greatest)"
  }

  /// True if a countdown ended within the time in which acts are concurrent with the newest: the
  /// result of the rule then depends on whether it ended before the acts were merged.
  private static func isShort(
    _ history: CausalHistory<TimerFact>, until newest: Int64, _ shown: [TimerFact]
  ) -> Bool {
    let span = TimerResolver.concurrencyMilliseconds
    let acts = history.done.filter { newest - $0.act.timestamp <= 2 * span }
    let isOver = { (act: TimerFact.Edit) in act.timestamp + act.remaining <= newest + span }
    return acts.contains { !$0.act.isPaused && $0.act.remaining > 0 && isOver($0.act) }
      && !shown.isEmpty && shown.allSatisfy { fact in acts.contains { $0.act == fact.act } }
  }

  /// Returns nil if every setting has a value that was not replaced with knowledge of it. The
  /// resolver chooses one of several such values, and all replicas agree on it.
  private func settings(_ history: CausalHistory<SettingFact>, _ fields: [UInt8]) -> String? {
    let shown = SettingFact.list(in: fields)
    let standing = history.standing
    // A setting that the relay has lost comes back without the version that it was made on, and a
    // newer version of the record may have an older value of it.
    let possible = standing + history.doubtful + (history.hasForgotten ? history.done : [])
    let isRight =
      shown.allSatisfy { possible.contains($0) }
      && standing.allSatisfy { fact in shown.contains { $0.name == fact.name } }
    return isRight
      ? nil : "these are set:\n  \(lines(shown))\nand these stand:\n  \(lines(standing))"
  }

  /// Returns nil if the note is as a user left it, or as it was at first, and no user who had seen
  /// this text has changed it.
  private func note(_ history: CausalHistory<NoteFact>, _ fields: [UInt8]?) -> String? {
    guard let fields else {
      return history.mayBeGone || history.wasNeverHeld
        ? nil : "is gone, and these stand:\n  \(lines(history.standing))"
    }
    let shown = NoteFact.list(in: fields)
    let possible = history.standing + history.doubtful
    return !shown.isEmpty && shown.allSatisfy { possible.contains($0) }
      ? nil : "is\n  \(lines(shown))\nby this history:\n\(history.description)"
  }
}

extension Demands {
  /// Returns nil if each text that was not replaced or deleted with knowledge of it is the memo, or
  /// a copy.
  private func memo(
    _ key: RecordKey, _ history: CausalHistory<MemoFact>, _ fields: [UInt8]?
  ) -> String? {
    let value = fields.flatMap { FieldsText.value($0) }
    if let value, value["title"]?.string != Demands.title(of: value["content"]?.string ?? "") {
      return "has the title \(value["title"]?.string ?? "")"
    }
    // A copy, and a text that outlived a deletion, have a later stamp than the text had.
    let isOwnCopy = key.name.text.utf8.contains(UInt8(ascii: "~"))
    let isAsWritten = !isOwnCopy && !history.wasDeleted
    if let value, let record = current(key), isAsWritten,
      value["date"]?.int64 != record.modifiedAt
    {
      return "has the date \(value["date"]?.text ?? ""), and was written at \(record.modifiedAt)"
    }
    return kept(key, history, fields, isOwnCopy: isOwnCopy) { copy in
      copy.hasPrefix(key.name.text + "~")
    }
  }

  /// Returns the first line, up to a hundred characters.
  private static func title(of content: String) -> String {
    var title = String.UnicodeScalarView()
    for scalar in content.unicodeScalars {
      if scalar == "\n" || title.count == 100 { break }
      title.append(scalar)
    }
    return String(title)
  }

  /// Returns nil if the bytes of a file pass the same check as a memo's text.
  private func file(
    _ key: RecordKey, _ history: CausalHistory<FileFact>, _ fields: [UInt8]?
  ) -> String? {
    let value = fields.flatMap { FieldsText.value($0) }
    if let value, value["file"]?.string != key.name.text {
      return "is of the file \(value["file"]?.string ?? "")"
    }
    let name = key.name.text
    let dot = name.lastIndex(of: ".").flatMap { $0 == name.startIndex ? nil : $0 }
    let stem = String(name[..<(dot ?? name.endIndex)])
    let ending = String(name[(dot ?? name.endIndex)...])
    let isOwnCopy = name.contains("_conflict_")
    return kept(key, history, fields, isOwnCopy: isOwnCopy) { copy in
      copy.hasPrefix(stem + "_conflict_") && copy.hasSuffix(ending)
    }
  }

  /// Returns nil if no content is lost. `isCopy`: true if another record of the zone, by its name,
  /// is a copy of this one.
  private func kept<Fact: Deed>(
    _ key: RecordKey, _ history: CausalHistory<Fact>, _ fields: [UInt8]?, isOwnCopy: Bool,
    isCopy: (String) -> Bool
  ) -> String? {
    let shown = fields.map { Fact.list(in: $0) } ?? []
    if fields != nil {
      var possible = history.standing + history.doubtful
      // A copy that a user deleted is made again if its conflict occurs again.
      if isOwnCopy { possible += history.done }
      guard shown.count == 1, possible.contains(shown[0]) else {
        return "is\n  \(lines(shown))\nby this history:\n\(history.description)"
      }
    }
    let copies = histories.recordKeys.filter { $0.zone == key.zone && isCopy($0.name.text) }
    for fact in history.standing where !shown.contains(fact) {
      let isKept = copies.contains { (histories[$0] as? CausalHistory<Fact>)?.knows(fact) == true }
      if !isKept {
        return "has lost\n  \(fact)\nby this history:\n\(history.description)"
      }
    }
    return nil
  }

  /// Returns nil if the habit was overwritten only by users who had seen it.
  private func habit(
    _ key: RecordKey, _ history: CausalHistory<HabitFact>, _ fields: [UInt8]?
  ) -> String? {
    let shown = fields.map { HabitFact.list(in: $0) } ?? []
    let standing = history.standing
    let isWhole = standing.allSatisfy { shown.contains($0) }
    let isPossible = shown.allSatisfy { standing.contains($0) || history.doubtful.contains($0) }
    // What a restored relay may have lost comes back if in doubt, also over a deletion.
    let isDeletionHeard =
      fields == nil || !history.isDeletionStanding || histories.wasRestored
      || histories.maybeRevived.contains(key)
    guard isWhole, isPossible, isDeletionHeard else {
      return "is\n  \(lines(shown))\nby this history:\n\(history.description)"
    }
    return nil
  }
}

extension Demands {
  /// Returns nil if the item is as the newest of all acts on it made it.
  private func item(
    _ key: RecordKey, _ history: StampedHistory, _ fields: [UInt8]?
  ) -> String? {
    let newest = history.newest
    let fields = FieldsText.unstamped(fields)
    // If a restored relay has lost a deletion, it is possible that no device holds it any more.
    let isForgotten =
      fields != nil && (history.hasLost || histories.maybeRevived.contains(key))
      && history.acts.contains { $0.fields == fields }
    let isRight = newest.isEmpty ? fields == nil : newest.contains { $0.fields == fields }
    if isRight || isForgotten { return nil }
    let shown = fields.map { String(decoding: $0, as: UTF8.self) } ?? "gone"
    return "is \(shown) by this history:\n\(history.description)"
  }

  /// Returns nil if each field is what its rule demands, and no text is lost.
  private func row(_ key: RecordKey, _ history: TableHistory, _ fields: [UInt8]?) -> String? {
    let copies = histories.recordKeys.filter {
      $0.zone == key.zone && $0.name.text.hasPrefix(key.name.text + "~")
    }.compactMap { current($0)?.fields.flatMap { FieldsText.value($0) } }
    return history.difference(fields, copies: copies)
  }

  /// Returns nil if there are at most a hundred items.
  private func clipboardDifference() -> String? {
    let live = histories.recordKeys.count {
      $0.zone == ClipboardApp.zone && current($0)?.isDeleted == false
    }
    return live > 100 ? "\(live) items stand in the clipboard" : nil
  }
}
