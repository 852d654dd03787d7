import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal

/// Notes: zone `Memos`, one record per memo.
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
    switch try MemoAction(json: order) {
    case .add(let content, let name):
      try MemosApp.check(content)
      return AppOutcome(
        [.edit(MemosApp.memoEdit(content, to: name))],
        view: MemosApp.changeView(.added, name, content))
    case .edit(let memo, let content, let was):
      let memo = contents.memos[try contents.choice.findEntry(memo)]
      return try edited(memo, was: was, content)
    case .remove(let memo):
      let memo = contents.memos[try contents.choice.findEntry(memo)]
      let edit = EditRequest(key: memo.record.key, type: MemosApp.memoType) {
        _ throws(EditRefusal) in nil
      }
      return AppOutcome(
        [.edit(edit)], view: MemosApp.changeView(.removed, memo.record.name, memo.content))
    }
  }

  package func view(_ question: JSONValue, of state: AppState) throws(EditRefusal) -> AppView {
    let contents = MemoContents(state.records)
    switch try MemoQuestion(json: question) {
    case .list:
      return contents.view(
        Array(contents.memos.indices), of: state, empty: localized("there is no memo yet"))
    case .search(let words):
      let places = contents.indices(with: words)
      return contents.view(places, of: state, empty: localized("no memo has these words"))
    case .memo(let memo):
      let memo = contents.memos[try contents.choice.findEntry(memo)]
      return AppView(
        json: [
          "name": .string(memo.record.name.text), "title": .string(memo.title),
          "content": .string(memo.content), "date": .number(JSONNumber(memo.date)),
        ],
        lines: memo.content.split(separator: "\n", omittingEmptySubsequences: false).map {
          RowText.line(String($0))
        })
    }
  }

  /// Edits a text that may have changed while the person was writing. In that case both texts are
  /// kept, as in a conflict between two devices.
  private func edited(
    _ memo: MemoContents.Memo, was: String, _ content: String
  ) throws(EditRefusal) -> AppOutcome {
    try MemosApp.check(content)
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
    return AppOutcome(steps, view: MemosApp.changeView(.changed, memo.record.name, content))
  }

  private static func check(_ content: String) throws(EditRefusal) {
    let isBlank = content.unicodeScalars.allSatisfy { $0.properties.isWhitespace }
    if isBlank {
      throw EditRefusal(localized("a memo without a word is not kept; remove it instead"))
    }
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

  private enum Change {
    case added, changed, removed

    /// One sentence; `title`: may be empty.
    func text(_ title: String) -> String {
      if title.isEmpty {
        return switch self {
        case .added: localized("added")
        case .changed: localized("changed")
        case .removed: localized("removed")
        }
      }
      return switch self {
      case .added: localized("added: {text}", ["text": title])
      case .changed: localized("changed: {text}", ["text": title])
      case .removed: localized("removed: {text}", ["text": title])
      }
    }
  }

  private static func changeView(_ change: Change, _ name: Name, _ content: String) -> AppView {
    let title = MemoTitle.plainText(MemoResolver.title(of: content))
    return AppView(json: ["name": .string(name.text)], lines: [change.text(title)])
  }
}
