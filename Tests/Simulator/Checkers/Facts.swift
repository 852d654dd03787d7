import LockstepJSON
import LockstepModel
import LockstepSimulation

extension TimerFact: Deed {
  package static func list(in fields: [UInt8]) -> [TimerFact] {
    TimerFacts(fields: fields)?.edits ?? []
  }

  /// True for each other edit: a new edit replaces all that its device had seen.
  package func replaces(_ other: TimerFact) -> Bool { other != self }

  package func corrects(_ other: TimerFact, by milliseconds: Int64) -> Bool {
    other.moved(by: milliseconds) == self
  }
}

/// New value of one setting. Users never choose a value twice, so that it identifies who chose it.
package struct SettingFact: Deed {
  package var name: String
  package var value: JSONValue

  package init(name: String, value: JSONValue) {
    self.name = name
    self.value = value
  }

  package static func list(in fields: [UInt8]) -> [SettingFact] {
    (FieldsText.value(fields)?.members ?? []).map { SettingFact(name: $0.name, value: $0.value) }
  }

  package func replaces(_ other: SettingFact) -> Bool { other.name == name && other != self }

  package func corrects(_ other: SettingFact, by milliseconds: Int64) -> Bool { false }
}

/// Text of a memo. Users never write one twice, so that it identifies its author.
package struct MemoFact: Deed {
  package var content: String

  package static func list(in fields: [UInt8]) -> [MemoFact] {
    FieldsText.value(fields)?["content"]?.string.map { [MemoFact(content: $0)] } ?? []
  }

  package func replaces(_ other: MemoFact) -> Bool { other != self }

  package func corrects(_ other: MemoFact, by milliseconds: Int64) -> Bool { false }
}

/// Bytes of a file, by their hash.
package struct FileFact: Deed {
  package var sha256: String

  package static func list(in fields: [UInt8]) -> [FileFact] {
    FieldsText.value(fields)?["sha256"]?.string.map { [FileFact(sha256: $0)] } ?? []
  }

  package func replaces(_ other: FileFact) -> Bool { other != self }

  package func corrects(_ other: FileFact, by milliseconds: Int64) -> Bool { false }
}

/// Title of a habit. Users never choose one twice.
package struct HabitFact: Deed {
  package var title: String

  package static func list(in fields: [UInt8]) -> [HabitFact] {
    FieldsText.value(fields)?["title"]?.string.map { [HabitFact(title: $0)] } ?? []
  }

  package func replaces(_ other: HabitFact) -> Bool { other != self }

  package func corrects(_ other: HabitFact, by milliseconds: Int64) -> Bool { false }
}

enum FieldsText {
  /// Returns the fields without their stamps; nil if the bytes are not JSON.
  static func value(_ bytes: [UInt8]) -> JSONValue? {
    do throws(JSONFault) {
      return Stamps.removed(from: try JSONValue(parsing: bytes))
    } catch {
      return nil
    }
  }

  /// Returns the fields without their stamps, which a corrected clock changes.
  static func unstamped(_ bytes: [UInt8]?) -> [UInt8]? {
    bytes.map { value($0)?.serialized() ?? $0 }
  }
}
