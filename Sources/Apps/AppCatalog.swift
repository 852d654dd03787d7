import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal

/// The only list of all apps.
package enum AppCatalog {
  /// All apps, without the vault's keys: sealed vault files stay unreadable.
  package static let all = all(vaultSeal: { nil })

  /// Returns all apps. `vaultSeal` is called when an app meets sealed data.
  package static func all(vaultSeal: @escaping @Sendable () -> VaultSeal?) -> [any App] {
    [TimerApp(), VaultApp(seal: vaultSeal), ClipboardApp(), MemosApp(), HabitsApp()]
  }

  /// Returns the rule for a record type of any app; nil if no app knows the type.
  package static func resolver(forType type: String) -> (any Resolver)? {
    guard let name = Name(type) else { return nil }
    return all.lazy.compactMap { $0.resolver(for: name) }.first
  }
}

/// Selection of one list entry by a person's input: its number in the list, from 1, or an
/// unambiguous prefix of its name or title.
package struct Choice {
  package struct Entry {
    package var name: String
    package var title: String
    /// The title in another form, such as without marks; empty if there is none.
    package var otherTitle: String

    package init(name: String, title: String, otherTitle: String = "") {
      self.name = name
      self.title = title
      self.otherTitle = otherTitle
    }

    fileprivate func isTitled(_ word: String) -> Bool {
      Choice.isSame(title, word) || !otherTitle.isEmpty && Choice.isSame(otherTitle, word)
    }

    fileprivate func begins(with word: String) -> Bool {
      [name, title, otherTitle].contains { Choice.hasPrefix($0, word) }
    }
  }

  /// Noun for one list entry: "item", "memo".
  package let noun: String
  package let entries: [Entry]

  package init(_ noun: String, _ entries: [Entry]) {
    self.noun = noun
    self.entries = entries
  }

  /// The noun in the language of the person.
  private var localizedNoun: String {
    switch noun {
    case "item": localized("item")
    case "memo": localized("memo")
    case "habit": localized("habit")
    default: noun
    }
  }

  /// Returns the index of the selected entry in the list.
  package func findEntry(_ word: String) throws(EditRefusal) -> Int {
    if entries.isEmpty {
      throw EditRefusal(localized("there is no {noun} here", ["noun": localizedNoun]))
    }
    if let exact = entries.firstIndex(where: { Choice.isSame($0.name, word) }) { return exact }
    if let number = Int(word), String(number) == word {
      guard entries.indices.contains(number - 1) else {
        throw EditRefusal(
          localized(
            "there is no {noun} {number}; the last one is {count}",
            ["noun": localizedNoun, "number": word, "count": String(entries.count)]))
      }
      return number - 1
    }
    let titled = entries.indices.filter { entries[$0].isTitled(word) }
    if titled.count == 1 { return titled[0] }
    let prefixed = entries.indices.filter { entries[$0].begins(with: word) }
    guard prefixed.count <= 1, titled.count <= 1 else {
      throw EditRefusal(
        localized(
          "{count} of them are called so; give the number in the list",
          ["count": String(max(prefixed.count, titled.count))]))
    }
    guard let index = prefixed.first, !word.isEmpty else {
      throw EditRefusal(
        localized(
          "there is no {noun} \u{201C}{word}\u{201D}; give its number in the list",
          ["noun": localizedNoun, "word": RowText.line(word)]))
    }
    return index
  }

  fileprivate static func isSame(_ text: String, _ word: String) -> Bool {
    text.lowercased().utf8.elementsEqual(word.lowercased().utf8)
  }

  fileprivate static func hasPrefix(_ text: String, _ word: String) -> Bool {
    text.lowercased().utf8.starts(with: word.lowercased().utf8)
  }
}

extension JSONValue {
  /// Returns a required text member of an order or a question. These come from programs, so the
  /// error names the wrong member.
  package func textMember(_ name: String) throws(EditRefusal) -> String {
    guard let text = self[name]?.string else { throw EditRefusal("\(name) must be a text") }
    return text
  }

  package func wholeMember(_ name: String) throws(EditRefusal) -> Int64 {
    guard let number = self[name]?.int64 else {
      throw EditRefusal("\(name) must be a whole number")
    }
    return number
  }
}

extension AppState {
  /// Returns the live records of a type.
  package func records(of type: Name) -> [Record] { records.filter { $0.type == type } }

  /// Index by key, for callers that look up many records.
  package var recordsByKey: [RecordKey: Record] {
    Dictionary(records.map { ($0.key, $0) }) { first, _ in first }
  }

  /// Returns the name of a new record, which the sender of the order has generated.
  package static func newName(_ order: JSONValue) throws(EditRefusal) -> Name {
    guard let name = Name(try order.textMember("name")) else {
      throw EditRefusal("that is no name for a record")
    }
    return name
  }
}
