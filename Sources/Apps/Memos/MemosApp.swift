import LockstepJSON
import LockstepModel
import LockstepTerminal

/// Notes: zone `Memos`, one record per memo.
///
///     {"do": "add", "name", "content"} · {"do": "edit", "memo", "was", "content"} ·
///     {"do": "remove", "memo"}
///     {"show": "list"} · {"show": "search", "words"} · {"show": "memo", "memo"}
package struct MemosApp: App {
  package static let zone = Name(trusted: "Memos")
  package static let memoType = Name(trusted: "Memo")

  package init() {}

  package var name: String { "memo" }
  package var zone: Name { MemosApp.zone }
  package var types: [Name] { [MemosApp.memoType] }

  package func resolver(for type: Name) -> (any Resolver)? {
    type == MemosApp.memoType ? MemoResolver() : nil
  }

  /// Of two concurrent texts, the older is kept as a separate memo.
  package func rules(for type: Name) -> MergeRules? {
    type == MemosApp.memoType ? MemoResolver.rules : nil
  }

  /// Corrects the date too: it is the timestamp of the edit that wrote it.
  package func restamped(
    _ fields: JSONValue, of type: Name, base: JSONValue?, from: Int64, to: Int64
  ) -> JSONValue {
    guard type == MemosApp.memoType, let date = fields["date"], date.int64 == from,
      date != base?["date"]
    else { return fields }
    return fields.setting("date", to: .number(JSONNumber(to)))
  }

  package func outcome(of order: JSONValue, on state: AppState) throws(EditRefusal) -> AppOutcome {
    let contents = MemoContents(state.records)
    switch order["do"]?.string {
    case "add":
      let content = try MemosApp.content(order)
      let name = try AppState.newName(order)
      return AppOutcome(
        [.edit(MemosApp.memoEdit(content, to: name))],
        view: MemosApp.changeView("added", name, content))
    case "edit":
      let memo = contents.memos[try contents.choice.findEntry(try order.textMember("memo"))]
      return try edited(memo, order)
    case "remove":
      let memo = contents.memos[try contents.choice.findEntry(try order.textMember("memo"))]
      let edit = EditRequest(key: memo.record.key, type: MemosApp.memoType) {
        _ throws(EditRefusal) in nil
      }
      return AppOutcome(
        [.edit(edit)], view: MemosApp.changeView("removed", memo.record.name, memo.content))
    default: throw EditRefusal("memos do not know that order")
    }
  }

  package func view(_ question: JSONValue, of state: AppState) throws(EditRefusal) -> AppView {
    let contents = MemoContents(state.records)
    switch question["show"]?.string {
    case "list":
      return contents.view(Array(contents.memos.indices), of: state, empty: "there is no memo yet")
    case "search":
      let places = contents.indices(with: try question.textMember("words"))
      return contents.view(places, of: state, empty: "no memo has these words")
    case "memo":
      let memo = contents.memos[try contents.choice.findEntry(try question.textMember("memo"))]
      return AppView(
        json: [
          "name": .string(memo.record.name.text), "title": .string(memo.title),
          "content": .string(memo.content), "date": .number(JSONNumber(memo.date)),
        ],
        lines: memo.content.split(separator: "\n", omittingEmptySubsequences: false).map {
          RowText.line(String($0))
        })
    default: throw EditRefusal("memos have no such view")
    }
  }

  /// Edits a text that may have changed while the person was writing. In that case both texts are
  /// kept, as in a conflict between two devices.
  private func edited(
    _ memo: MemoContents.Memo, _ order: JSONValue
  ) throws(EditRefusal) -> AppOutcome {
    let content = try MemosApp.content(order)
    let was = try order.textMember("was")
    var steps = [AppOutcome.Step.edit(MemosApp.memoEdit(content, to: memo.record.name))]
    if !memo.content.utf8.elementsEqual(was.utf8), !memo.content.utf8.elementsEqual(content.utf8),
      let fields = memo.record.value,
      let copy = Name(
        CopyName.text(
          memo.record.name.text, "~\(memo.record.device.text)-\(memo.record.modifiedAt)"))
    {
      let key = RecordKey(zone: MemosApp.zone, name: copy)
      steps.insert(
        .edit(EditRequest(key: key, type: MemosApp.memoType) { _ throws(EditRefusal) in fields }),
        at: 0)
    }
    return AppOutcome(steps, view: MemosApp.changeView("changed", memo.record.name, content))
  }

  private static func content(_ order: JSONValue) throws(EditRefusal) -> String {
    let content = try order.textMember("content")
    let isBlank = content.unicodeScalars.allSatisfy { $0.properties.isWhitespace }
    if isBlank { throw EditRefusal("a memo without a word is not kept; remove it instead") }
    return content
  }

  /// Keeps fields that this version does not know.
  private static func memoEdit(_ content: String, to name: Name) -> EditRequest {
    EditRequest(key: RecordKey(zone: zone, name: name), type: memoType) {
      context throws(EditRefusal) in
      (context.current?.value ?? [:])
        .setting("title", to: .string(MemoResolver.title(of: content)))
        .setting("content", to: .string(content))
        .setting("date", to: .number(JSONNumber(context.stamp)))
    }
  }

  private static func changeView(_ what: String, _ name: Name, _ content: String) -> AppView {
    let title = RowText.line(MemoResolver.title(of: content))
    return AppView(
      json: ["name": .string(name.text)], lines: [title.isEmpty ? what : "\(what): \(title)"])
  }
}
