import LockstepApps
import LockstepModel

/// An app that simulated users use.
package enum PlayedApp: String, CaseIterable {
  case timer, memos, habits, clipboard, vault
  /// No app of the program: a table of all merge rules.
  case tables

  /// The apps of the program.
  package static let ofProgram: [PlayedApp] = allCases.filter { $0 != .tables }

  package var zone: Name {
    switch self {
    case .timer: TimerApp.zone
    case .memos: MemosApp.zone
    case .habits: HabitsApp.zone
    case .clipboard: ClipboardApp.zone
    case .vault: VaultApp.zone
    case .tables: TablesApp.zone
    }
  }

  /// Draws the next user action. `act`: number of the action, which is unique.
  func press(_ random: inout SeededRandom, _ act: Int) -> People.Press {
    switch self {
    case .timer: timerPress(&random, act)
    case .memos: .memo(memoPress(&random, act))
    case .habits: .habit(habitPress(&random, act))
    case .clipboard: .clipboard(clipboardPress(&random, act))
    case .vault: .vault(vaultPress(&random, act))
    case .tables: tablePress(&random, act)
    }
  }

  private func timerPress(_ random: inout SeededRandom, _ act: Int) -> People.Press {
    switch random.count(in: 0...13) {
    case 0...4: .timer(.start(length: length(&random)))
    case 5, 6: .timer(.pause)
    case 7, 8: .timer(.resume)
    case 9, 10: .timer(.stop)
    case 11: .timer(.skip)
    case 12: .timer(.snooze(length: length(&random)))
    default:
      .setting(
        random.one(of: ["focusMinutes", "longBreakMinutes", "longBreakEvery"]), Int64(act + 1))
    }
  }

  /// Returns a length that mostly ends during the simulation; nil: the default.
  private func length(_ random: inout SeededRandom) -> Int64? {
    random.chance(1, of: 4) ? nil : random.number(in: 300...15_000)
  }

  private func memoPress(_ random: inout SeededRandom, _ act: Int) -> People.MemoPress {
    switch random.count(in: 0...11) {
    case 0, 1: .add(name: "memo \(act)", content: text(&random, act))
    case 2: .remove(pick: random.count(in: 0...3))
    default: .write(pick: random.count(in: 0...2), content: text(&random, act))
    }
  }

  /// Returns one line or several, sometimes with a first line that is too long for a title.
  private func text(_ random: inout SeededRandom, _ act: Int) -> String {
    switch random.count(in: 0...5) {
    case 0: "text \(act)"
    case 1: String(repeating: "\u{e9}x", count: 60) + " \(act)\nthe rest"
    case 2: "\nuntitled \(act)"
    default: "text \(act)\nsecond line\n"
    }
  }

  private func habitPress(_ random: inout SeededRandom, _ act: Int) -> People.HabitPress {
    let pick = random.count(in: 0...2)
    let day = random.one(of: ["2026-03-01", "2026-03-02"])
    switch random.count(in: 0...15) {
    case 0, 1:
      return .add(name: "habit \(act)", title: "title \(act)", isCounted: random.chance(2, of: 3))
    case 2...4: return .rename(pick: pick, title: "title \(act)")
    case 5: return .remove(pick: pick)
    case 6, 7: return .check(pick: pick, day: day, random.chance(2, of: 3))
    case 8, 9: return .count(pick: pick, day: day, by: -1)
    default: return .count(pick: pick, day: day, by: random.number(in: 1...3))
    }
  }

  private func clipboardPress(
    _ random: inout SeededRandom, _ act: Int
  ) -> People.ClipboardPress {
    switch random.count(in: 0...19) {
    case 0...9: .add(name: "item \(act)", content: "copied \(act)")
    case 10...13: .remove(pick: random.count(in: 0...3))
    case 14...18: .write(pick: random.count(in: 0...3), content: "copied \(act)")
    default: random.chance(1, of: 4) ? .clear : .remove(pick: 0)
    }
  }

  private func tablePress(_ random: inout SeededRandom, _ act: Int) -> People.Press {
    .table(
      row: random.count(in: 0...2), field: random.count(in: 0...TablesApp.fields.count - 1),
      number: random.number(in: 0...5), act: Int64(act))
  }

  private func vaultPress(_ random: inout SeededRandom, _ act: Int) -> People.VaultPress {
    let file = random.one(of: ["vault.db", "notes", ".profile"])
    return switch random.count(in: 0...9) {
    case 0: .remove(file: file)
    case 1: .clean
    default: .save(file: file, content: "content \(act)")
    }
  }
}
