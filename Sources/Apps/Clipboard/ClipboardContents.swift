import LockstepJSON
import LockstepModel
import LockstepTerminal

/// Clipboard items, newest first.
package struct ClipboardContents: Sendable {
  package struct Item: Hashable, Sendable {
    package let record: Record
    package let content: String
  }

  package let items: [Item]

  /// Maximum number of scalars per item in a list: a hundred full items could be large.
  private static let shownScalars = 1_000

  /// If this version cannot read an item's content, the item is shown empty, so that a person can
  /// remove it.
  package init(_ records: [Record]) {
    items = records.filter { $0.type == ClipboardApp.itemType && !$0.isDeleted }
      .sorted(by: ClipboardContents.isNewer)
      .map { Item(record: $0, content: $0.value?["content"]?.string ?? "") }
  }

  /// True if `record` is newer, by modifiedAt, then device, then name: the same order on every
  /// device.
  private static func isNewer(_ record: Record, than other: Record) -> Bool {
    if record.modifiedAt != other.modifiedAt { return record.modifiedAt > other.modifiedAt }
    if record.device != other.device { return record.device > other.device }
    return record.name > other.name
  }

  /// Items beyond the hundred newest.
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
      return [
        "item": JSONValue(integerLiteral: Int64(place + 1)), "name": .string(item.record.name.text),
        "content": .string(String(String.UnicodeScalarView(scalars.prefix(Self.shownScalars)))),
        "characters": .number(JSONNumber(Int64(scalars.count))),
        "modifiedAt": .number(JSONNumber(item.record.modifiedAt)),
        "device": .string(item.record.device.text),
      ]
    }
    let rows = shown.enumerated().map { place, item in
      ClipboardContents.row(place + 1, item, of: state)
    }
    return AppView(
      json: ["items": .array(json)],
      lines: rows.isEmpty ? ["nothing was copied yet"] : rows)
  }

  private static func row(_ number: Int, _ item: Item, of state: AppState) -> String {
    [
      RowText.right("\(number)", 3),
      RowText.right(RowText.age(of: item.record.modifiedAt, at: state.now), 6),
      RowText.left(
        RowText.cut(RowText.line(state.name(of: item.record.device)), to: 12), 12),
      RowText.line(item.content),
    ].joined(separator: "  ")
  }
}
