import LockstepModel

/// Selection of one list entry by a person's input: its number in the list, from 1, or an
/// unambiguous prefix of its name or title.
package struct Choice {
  package struct Entry {
    package var name: String
    package var title: String

    package init(name: String, title: String) {
      self.name = name
      self.title = title
    }
  }

  /// Noun for one list entry: "item", "memo".
  package let noun: String
  package let entries: [Entry]

  package init(_ noun: String, _ entries: [Entry]) {
    self.noun = noun
    self.entries = entries
  }

  /// Returns the index in the list.
  package func place(_ word: String) throws(EditRefusal) -> Int {
    if entries.isEmpty { throw EditRefusal("there is no \(noun) here") }
    if let exact = entries.firstIndex(where: { Choice.same($0.name, word) }) { return exact }
    if let number = Int(word), String(number) == word {
      guard entries.indices.contains(number - 1) else {
        throw EditRefusal("there is no \(noun) \(number); the last one is \(entries.count)")
      }
      return number - 1
    }
    let titled = entries.indices.filter { Choice.same(entries[$0].title, word) }
    if titled.count == 1 { return titled[0] }
    let begun = entries.indices.filter {
      Choice.begins(entries[$0].name, word) || Choice.begins(entries[$0].title, word)
    }
    guard begun.count <= 1, titled.count <= 1 else {
      throw EditRefusal(
        "\(max(begun.count, titled.count)) of them are called so; give the number in the list")
    }
    guard let place = begun.first, !word.isEmpty else {
      throw EditRefusal(
        "there is no \(noun) \u{201C}\(RowText.line(word))\u{201D}; give its number in the list")
    }
    return place
  }

  private static func same(_ text: String, _ word: String) -> Bool {
    text.lowercased().utf8.elementsEqual(word.lowercased().utf8)
  }

  private static func begins(_ text: String, _ word: String) -> Bool {
    text.lowercased().utf8.starts(with: word.lowercased().utf8)
  }
}
