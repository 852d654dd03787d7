import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal

/// Clipboard history of all devices: zone `Clipboard`, one record per item.
package struct ClipboardApp: App {
  package static let zone = Name(trusted: "Clipboard")
  package static let itemType = Name(trusted: "ClipboardItem")

  package init() {}

  package var name: String { "clipboard" }
  package var zone: Name { ClipboardApp.zone }
  package var types: [Name] { [ClipboardApp.itemType] }

  /// The newer version of an item remains. At one instant a delete wins: the removed text may be a
  /// password.
  package func rules(for type: Name) -> MergeRules? {
    type == ClipboardApp.itemType ? MergeRules(delete: .newest) : nil
  }

  package var boundedTypes: [Name] { [ClipboardApp.itemType] }

  package func surplus(of type: Name, among records: [Record]) -> [RecordKey] {
    guard type == ClipboardApp.itemType, records.count > Limits.clipboardItems else { return [] }
    return ClipboardContents(records).surplus
  }

  package func outcome(of order: JSONValue, on state: AppState) throws(EditRefusal) -> AppOutcome {
    let contents = ClipboardContents(state.records)
    switch try ClipboardAction(json: order) {
    case .add(let content, let name):
      if content.unicodeScalars.allSatisfy({ $0.properties.isWhitespace }) {
        throw EditRefusal(localized("there is nothing to add: the text is blank"))
      }
      let edit = ClipboardApp.edit(name) { _ in ["content": .string(content)] }
      return AppOutcome(
        [.edit(edit)],
        view: AppView(
          json: ["name": .string(edit.key.name.text)],
          lines: [localized("added: {text}", ["text": RowText.line(content)])]))
    case .remove(let item):
      let item = contents.items[try contents.choice.findEntry(item)]
      return AppOutcome(
        [.edit(ClipboardApp.edit(item.record.name) { _ in nil })],
        view: AppView(
          json: ["name": .string(item.record.name.text)],
          lines: [localized("removed: {text}", ["text": item.line])]))
    case .pin(let item): return try ClipboardApp.pinOutcome(item, true, in: contents)
    case .unpin(let item): return try ClipboardApp.pinOutcome(item, false, in: contents)
    case .clear(let includesPinned):
      return ClipboardApp.clearOutcome(contents, includesPinned: includesPinned)
    }
  }

  private static func pinOutcome(
    _ word: String, _ isPinned: Bool, in contents: ClipboardContents
  ) throws(EditRefusal) -> AppOutcome {
    let item = contents.items[try contents.choice.findEntry(word)]
    let json: JSONValue = ["name": .string(item.record.name.text)]
    if item.isPinned == isPinned {
      let line =
        isPinned
        ? localized("is already pinned: {text}", ["text": item.line])
        : localized("is not pinned: {text}", ["text": item.line])
      return AppOutcome([], view: AppView(json: json, lines: [line]))
    }
    if isPinned, contents.items.filter(\.isPinned).count >= Limits.clipboardPins {
      throw EditRefusal(
        localized(
          "{count} items are pinned, the most there can be; unpin one",
          ["count": String(Limits.clipboardPins)]))
    }
    let edit = edit(item.record.name) { context throws(EditRefusal) in
      guard let record = context.current else {
        throw EditRefusal(localized("this item is not there any more"))
      }
      let fields = (record.value ?? [:]).setting("pinned", to: isPinned ? true : nil)
      // A pin is no copy: the item keeps its time, and its place among the others.
      let copiedAt = ClipboardContents.Item(record).copiedAt
      return fields.setting("copiedAt", to: .number(JSONNumber(copiedAt)))
    }
    let line =
      isPinned
      ? localized("pinned: {text}", ["text": item.line])
      : localized("no longer pinned: {text}", ["text": item.line])
    return AppOutcome([.edit(edit)], view: AppView(json: json, lines: [line]))
  }

  private static func clearOutcome(
    _ contents: ClipboardContents, includesPinned: Bool
  ) -> AppOutcome {
    let removed = contents.items.filter { includesPinned || !$0.isPinned }
    let kept = contents.items.count - removed.count
    var lines = [
      localized(count: removed.count, one: "{count} item removed", many: "{count} items removed")
    ]
    if kept > 0 {
      lines.append(
        localized(
          count: kept,
          one: "{count} pinned item stays; remove pinned items too with lockstep clipboard clear "
            + "--all",
          many: "{count} pinned items stay; remove pinned items too with lockstep clipboard clear "
            + "--all"))
    }
    return AppOutcome(
      removed.map { .edit(edit($0.record.name) { _ in nil }) },
      view: AppView(
        json: [
          "removed": JSONValue(integerLiteral: Int64(removed.count)),
          "pinned": JSONValue(integerLiteral: Int64(kept)),
        ], lines: lines))
  }

  package func view(_ question: JSONValue, of state: AppState) throws(EditRefusal) -> AppView {
    let contents = ClipboardContents(state.records)
    switch try ClipboardQuestion(json: question) {
    case .list: return contents.view(of: state)
    case .item(let item):
      let item = contents.items[try contents.choice.findEntry(item)]
      let json: JSONValue = [
        "name": .string(item.record.name.text), "content": .string(item.content),
      ]
      // The whole reference, for a program that fetches the image.
      let image = item.image.flatMap { image in
        item.record.value?["image"]?.setting("type", to: .string(image.type))
      }
      return AppView(json: image.map { json.setting("image", to: $0) } ?? json, lines: [item.line])
    }
  }

  private static func edit(
    _ name: Name,
    _ make: @escaping @Sendable (EditContext) throws(EditRefusal) -> JSONValue?
  ) -> EditRequest {
    EditRequest(key: RecordKey(zone: zone, name: name), type: itemType, make: make)
  }
}
