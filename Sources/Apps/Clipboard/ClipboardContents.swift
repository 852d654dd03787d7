import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal

/// Clipboard items: the pinned ones first, then the newest.
package struct ClipboardContents: Sendable {
  package struct Item: Hashable, Sendable {
    package let record: Record
    /// The text; of an image, the name of its file.
    package let content: String
    package let isPinned: Bool
    package let image: ClipboardImage?
    /// Time at which it was copied: `copiedAt` of an item that was changed since, otherwise the
    /// time of its record. Never later than that, so that no item can stay the newest.
    package let copiedAt: Int64

    /// If this version cannot read an item's content, the item is shown empty, so that a person can
    /// remove it.
    init(_ record: Record) {
      let fields = record.value ?? [:]
      self.record = record
      content = fields["content"]?.string ?? ""
      isPinned = fields["pinned"]?.bool == true
      image = ClipboardImage(fields)
      copiedAt = min(fields["copiedAt"]?.int64 ?? record.modifiedAt, record.modifiedAt)
    }

    /// Text in one row: of an image its kind, size and name.
    package var line: String {
      let text = RowText.line(content)
      return image.map { text.isEmpty ? $0.label : "\($0.label) \(text)" } ?? text
    }
  }

  package let items: [Item]

  /// Maximum number of scalars per item in a list: a hundred full items could be large.
  private static let shownScalars = 1_000

  package init(_ records: [Record]) {
    items = records.filter { $0.type == ClipboardApp.itemType && !$0.isDeleted }
      .map { Item($0) }
      .sorted(by: ClipboardContents.isBefore)
  }

  /// True if `item` is listed before `other`: the same order on every device. Of two that were
  /// copied at one time, the one with the greater device, then the greater name.
  private static func isBefore(_ item: Item, _ other: Item) -> Bool {
    if item.isPinned != other.isPinned { return item.isPinned }
    if item.copiedAt != other.copiedAt { return item.copiedAt > other.copiedAt }
    if item.record.device != other.record.device {
      return item.record.device > other.record.device
    }
    return item.record.name > other.record.name
  }

  /// Items beyond the first hundred.
  package var surplus: [RecordKey] {
    items.dropFirst(Limits.clipboardItems).map(\.record.key)
  }

  package var choice: Choice {
    Choice("item", items.map { Choice.Entry(name: $0.record.name.text, title: "") })
  }

  package func view(of state: AppState) -> AppView {
    let shown = items.prefix(Limits.clipboardItems)
    let json: [JSONValue] = shown.enumerated().map { place, item in
      let scalars = item.content.unicodeScalars
      let entry: JSONValue = [
        "item": JSONValue(integerLiteral: Int64(place + 1)), "name": .string(item.record.name.text),
        "content": .string(String(String.UnicodeScalarView(scalars.prefix(Self.shownScalars)))),
        "characters": .number(JSONNumber(Int64(scalars.count))),
        "pinned": .bool(item.isPinned),
        "copiedAt": .number(JSONNumber(item.copiedAt)),
        "modifiedAt": .number(JSONNumber(item.record.modifiedAt)),
        "device": .string(item.record.device.text),
      ]
      return item.image.map { entry.setting("image", to: $0.json) } ?? entry
    }
    let ages = shown.map { RowText.age(of: $0.copiedAt, at: state.now) }
    let ageColumns = ages.map(RowText.width(of:)).reduce(6, max)
    let rows = zip(shown, ages).enumerated().map { place, row in
      ClipboardContents.row(
        place + 1, row.0, RowText.right(row.1, ageColumns),
        RowText.line(state.name(of: row.0.record.device)))
    }
    return AppView(
      json: ["items": .array(json)],
      lines: rows.isEmpty ? [localized("nothing was copied yet")] : rows)
  }

  private static func row(
    _ number: Int, _ item: Item, _ age: String, _ device: String
  ) -> String {
    [
      RowText.right("\(number)", 3), age, RowText.left(RowText.cut(device, to: 12), 12),
      item.isPinned ? localized("[pinned] {text}", ["text": item.line]) : item.line,
    ].joined(separator: "  ")
  }
}
