import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal

/// Memos, the most recently written first.
package struct MemoContents: Sendable {
  package struct Memo: Hashable, Sendable {
    package let record: Record
    package let title: String
    package let content: String
    package let date: Int64

    /// Title as a person reads it: on one row, without the signs of markdown.
    package var shownTitle: String { MemoTitle.plainText(title) }

    /// For a copy left by a conflict: the name of the original memo and the device that wrote the
    /// copy.
    package var origin: (name: String, device: String)? {
      let text = record.name.text
      guard let tilde = text.lastIndex(of: "~"), let dash = text.lastIndex(of: "-"), tilde < dash,
        Int64(text[text.index(after: dash)...]) != nil
      else { return nil }
      return (String(text[..<tilde]), String(text[text.index(after: tilde)..<dash]))
    }
  }

  package let memos: [Memo]

  package init(_ records: [Record]) {
    memos = records.filter { $0.type == MemosApp.memoType && !$0.isDeleted }
      .map { record in
        let value = record.value
        let content = value?["content"]?.string ?? ""
        return Memo(
          record: record, title: MemoResolver.title(of: content), content: content,
          date: value?["date"]?.wholeNumber ?? record.modifiedAt)
      }
      .sorted { ($0.date, $0.record.name) > ($1.date, $1.record.name) }
  }

  package var choice: Choice {
    Choice(
      "memo",
      memos.map {
        Choice.Entry(name: $0.record.name.text, title: $0.title, otherTitle: $0.shownTitle)
      })
  }

  /// Returns the indices of the memos that contain all words, ignoring case.
  package func indices(with words: String) -> [Int] {
    let words = words.lowercased().split(separator: " ").map { Array($0.utf8) }
    return memos.indices.filter { place in
      let text = Array(memos[place].content.lowercased().utf8)
      return words.allSatisfy { MemoContents.contains(text, $0) }
    }
  }

  private static func contains(_ text: [UInt8], _ word: [UInt8]) -> Bool {
    guard let first = word.first else { return true }
    var rest = text[...]
    while let start = rest.firstIndex(of: first) {
      if rest[start...].starts(with: word) { return true }
      rest = rest[(start + 1)...]
    }
    return false
  }

  /// Shows the memos at these indices, with their numbers in the whole list.
  package func view(_ places: [Int], of state: AppState, empty: String) -> AppView {
    let json = places.map { place -> JSONValue in
      let memo = memos[place]
      var entry: JSONValue = [
        "memo": JSONValue(integerLiteral: Int64(place + 1)), "name": .string(memo.record.name.text),
        "title": .string(memo.title), "date": .number(JSONNumber(memo.date)),
      ]
      if let origin = memo.origin { entry = entry.setting("copyOf", to: .string(origin.name)) }
      return entry
    }
    let rows = places.map { row($0, of: state) }
    return AppView(json: ["memos": .array(json)], lines: rows.isEmpty ? [empty] : rows)
  }

  private func row(_ place: Int, of state: AppState) -> String {
    let memo = memos[place]
    let title = memo.shownTitle
    return [
      RowText.right("\(place + 1)", 3), UniversalTime(memo.date).date,
      (title.isEmpty ? localized("(untitled)") : title) + (copyMark(memo, of: state) ?? ""),
    ].joined(separator: "  ")
  }

  /// Returns the mark of a conflict copy in a list.
  private func copyMark(_ memo: Memo, of state: AppState) -> String? {
    memo.origin.map { origin in
      let name = DeviceID(text: origin.device).map(state.name(of:)) ?? origin.device
      let mark = localized("[other version, from {device}]", ["device": RowText.line(name)])
      return "  " + mark
    }
  }
}

/// Merges a memo field by field. If both sides wrote a different text, the newer text stays and the
/// older one is kept whole as a separate memo. The date never goes back, and the title always
/// follows from the text.
package struct MemoResolver: Resolver {
  package static let rules: MergeRules = ["content": .keepBoth]

  package init() {}

  package func resolve(_ conflict: Conflict) -> Resolution {
    guard case .merged(let fields, let copies) = RuleResolver(Self.rules).resolve(conflict),
      var merged = fields, let newer = conflict.sides.newer.fields,
      let older = conflict.sides.older.fields
    else { return RuleResolver(Self.rules).resolve(conflict) }
    if let date = Greater.number(newer["date"], older["date"]) {
      merged = merged.setting("date", to: date)
    }
    if let content = merged["content"]?.string {
      merged = merged.setting("title", to: .string(MemoResolver.title(of: content)))
    }
    merged = Self.rules.normalized(merged, of: conflict.sides.newer)
    return .merged(fields: merged, copies: copies.map { renamed($0, conflict) })
  }

  /// A version that another program wrote, without stamps, gives its copy its own time.
  private func renamed(_ copy: Resolution.Copy, _ conflict: Conflict) -> Resolution.Copy {
    let sides = [conflict.local, conflict.server]
    guard let loser = sides.first(where: { $0.fields == copy.fields }) else { return copy }
    let name = CopyName.text(loser.name, "~\(loser.device)-\(loser.modifiedAt)")
    return Resolution.Copy(name: name, fields: copy.fields)
  }

  /// Returns the first line of a memo, at most its first hundred characters (Unicode scalars).
  package static func title(of content: String) -> String {
    String(content.unicodeScalars.prefix { $0 != "\n" }.prefix(100))
  }
}
