import LockstepJSON
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
      if content.isEmpty { throw EditRefusal("there is nothing to add") }
      let edit = ClipboardApp.edit(name) { _ in ["content": .string(content)] }
      return AppOutcome(
        [.edit(edit)],
        view: AppView(
          json: ["name": .string(edit.key.name.text)], lines: ["added: " + RowText.line(content)]))
    case .remove(let item):
      let item = contents.items[try contents.choice.findEntry(item)]
      return AppOutcome(
        [.edit(ClipboardApp.edit(item.record.name) { _ in nil })],
        view: AppView(
          json: ["name": .string(item.record.name.text)],
          lines: ["removed: " + RowText.line(item.content)]))
    case .clear:
      let count = contents.items.count
      return AppOutcome(
        contents.items.map { .edit(ClipboardApp.edit($0.record.name) { _ in nil }) },
        view: AppView(
          json: ["removed": JSONValue(integerLiteral: Int64(count))],
          lines: [count == 1 ? "1 item removed" : "\(count) items removed"]))
    }
  }

  package func view(_ question: JSONValue, of state: AppState) throws(EditRefusal) -> AppView {
    let contents = ClipboardContents(state.records)
    switch try ClipboardQuestion(json: question) {
    case .list: return contents.view(of: state)
    case .item(let item):
      let item = contents.items[try contents.choice.findEntry(item)]
      return AppView(
        json: ["name": .string(item.record.name.text), "content": .string(item.content)],
        lines: [RowText.line(item.content)])
    }
  }

  private static func edit(
    _ name: Name, _ make: @escaping @Sendable (EditContext) -> JSONValue?
  ) -> EditRequest {
    EditRequest(key: RecordKey(zone: zone, name: name), type: itemType) {
      context throws(EditRefusal) in make(context)
    }
  }
}
