import LockstepApps
import LockstepJSON
import LockstepModel

/// Fields of the apps' records that no program of ours would write: of the right form, with numbers
/// at and beyond every bound, malformed texts, and missing or wrong members.
struct HostileFields {
  var draw: ByteDraw

  private enum Form {
    case number, text, flag, counts, edits, plan, hashes
  }

  private static let shapes: [Name: [(name: String, form: Form)]] = [
    TimerApp.stateType: [("completedPomodoros", .number), ("edits", .edits)],
    TimerApp.settingsType: [
      ("focusMinutes", .number), ("shortBreakMinutes", .number), ("longBreakMinutes", .number),
      ("longBreakEvery", .number), ("snoozeMinutes", .number), ("autoStart", .flag),
    ],
    VaultApp.fileType: [
      ("file", .text), ("size", .number), ("sha256", .hashes), ("chunks", .hashes),
      ("sealed", .text), ("key", .text),
    ],
    VaultApp.keyType: [
      ("key", .text), ("salt", .text), ("n", .number), ("r", .number), ("p", .number),
      ("wrapped", .text), ("expiresAt", .number),
    ],
    ClipboardApp.itemType: [("content", .text)],
    MemosApp.memoType: [("title", .text), ("content", .text), ("date", .number)],
    HabitsApp.habitType: [("title", .text), ("kind", .text), ("target", .number)],
    HabitsApp.checkInType: [
      ("habit", .text), ("day", .text), ("done", .flag), ("counts", .counts), ("undone", .counts),
    ],
    HabitsApp.listType: [("places", .counts), ("archived", .hashes)],
  ]

  private static let edit: [(name: String, form: Form)] = [
    ("deviceID", .text), ("timestamp", .number), ("stateType", .text), ("isPaused", .flag),
    ("remaining", .number), ("duration", .number), ("plan", .plan), ("act", .edits),
  ]
  private static let plan: [(name: String, form: Form)] = [
    ("autoStart", .flag), ("break", .number), ("longBreak", .number), ("longBreakEvery", .number),
  ]

  private static let numbers = [
    "0", "1", "-1", "2", "5000", "5001", "60000", "1500000", "86400000", "86400001", "0.5", "-0.5",
    "1.5e3", "1e-400", "-0", "1772366400000", "1772366405000", "8796093022207", "8796093022208",
    "9007199254740991", "9007199254740993", "153722867280912930", "1152921504606846975",
    "1152921504606846976", "1152921504606846977", "-1152921504606846976", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "1e18", "1e19", "1e20",
    "1e21", "1e308", "1e309", "-1e309", "1e400", "1e999999999999999999999",
    "-1e999999999999999999999", "0.1234567890123456789", "123456789012345678901234567890",
  ]

  private static let texts = [
    "", "a", "focus", "breakTime", "snooze", "idle", "daydream", "checkbox", "count", "é",
    "e\u{301}", "\u{202E}x", "\n", "\u{1B}[2J", "\u{0}", "\u{85}", "\u{2028}", "2026-03-01",
    "0000-01-01", "9999-12-31", "2026-02-30", "..", ".", "/", "~", "a~b-5", "a~b--", "-~",
    "vault.db",
    "vault_conflict_2026-03-01T12-00-00.000Z.db", "_conflict_", ".db", "a.", "電", "😀",
    "000000000000000a", "AAAA", "__proto__", "2026-03-01/x", "1", "01", "-1",
  ]

  mutating func fields(of type: Name) -> JSONValue { object(HostileFields.shapes[type] ?? []) }

  mutating func text() -> String {
    let text = draw.one(of: HostileFields.texts)
    switch draw.below(8) {
    case 0: return String(repeating: text, count: draw.below(200))
    case 1: return text + draw.one(of: HostileFields.texts)
    default: return text
    }
  }

  mutating func number() -> JSONNumber {
    let text =
      draw.below(4) == 0
      ? "\(Int64(bitPattern: draw.word()))" : draw.one(of: HostileFields.numbers)
    return JSONNumber(text) ?? JSONNumber(0)
  }

  /// Returns any value.
  mutating func value(_ depth: Int = 0) -> JSONValue {
    switch draw.below(depth < 4 ? 7 : 5) {
    case 0: .null
    case 1: .bool(draw.below(2) == 0)
    case 2, 3: .number(number())
    case 4: .string(text())
    case 5: .array((0..<draw.below(4)).map { _ in value(depth + 1) })
    default: .object(unique((0..<draw.below(4)).map { _ in JSONMember(text(), value(depth + 1)) }))
    }
  }

  private mutating func object(_ shape: [(name: String, form: Form)]) -> JSONValue {
    var members: [JSONMember] = []
    for (name, form) in shape {
      switch draw.below(12) {
      case 0: continue
      case 1: members.append(JSONMember(name, value()))
      default: members.append(JSONMember(name, value(of: form)))
      }
    }
    if draw.below(8) == 0 { members.append(JSONMember(text(), value())) }
    return .object(unique(members))
  }

  private mutating func value(of form: Form) -> JSONValue {
    switch form {
    case .number: .number(number())
    case .text: .string(text())
    case .flag: .bool(draw.below(2) == 0)
    case .counts:
      .object(unique((0..<draw.below(6)).map { _ in JSONMember(text(), .number(number())) }))
    case .edits: .array((0..<draw.below(5)).map { _ in object(HostileFields.edit) })
    case .plan: object(HostileFields.plan)
    case .hashes:
      .array((0..<draw.below(4)).map { _ in .string(String(repeating: text(), count: 64)) })
    }
  }

  /// Returns the members with each name once, compared by bytes.
  private func unique(_ members: [JSONMember]) -> [JSONMember] {
    JSONValue.null.setting(members).members ?? []
  }
}
