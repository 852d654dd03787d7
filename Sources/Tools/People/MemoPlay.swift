import LockstepApps
import LockstepClient
import LockstepModel

/// Memos are written, rewritten and removed. At the end every text must exist, unless a person who
/// saw it replaced it.
struct MemoPlay: AppPlay {
  private var texts = WrittenTexts()
  private var count = 0

  mutating func press(
    _ order: OrderID, seeing shown: ShownRecords, _ random: inout SeededRandom
  ) -> AgentOrder? {
    let memos = shown.records(of: MemosApp.memoType)
    let (app, draw) = (MemosApp().name, Int.random(in: 0..<10, using: &random))
    count += 1
    let text = "text \(count)\nof many"
    guard memos.count >= 3, draw > 0, let memo = memos.randomElement(using: &random),
      let old = MemoPlay.content(memo)
    else {
      texts.ordered(order, old: nil, new: text)
      return .perform(
        order, app: app,
        ["do": "add", "name": .string("memo \(count)"), "content": .string(text)])
    }
    if draw == 1 {
      texts.ordered(order, old: old, new: nil)
      let key = memo.key
      return .edit(
        order,
        EditRequest(key: key, type: MemosApp.memoType) { context throws(EditRefusal) in
          // People remove only texts that they see.
          guard context.current.flatMap(MemoPlay.content) == old else {
            throw EditRefusal("it is another text by now")
          }
          return nil
        })
    }
    texts.ordered(order, old: old, new: text)
    return .perform(
      order, app: app,
      [
        "do": "edit", "memo": .string(memo.name.text), "was": .string(old),
        "content": .string(text),
      ])
  }

  mutating func done(_ order: OrderID) { texts.done(order) }

  mutating func dropped(_ order: OrderID) { texts.dropped(order) }

  func faults(in shown: ShownRecords) -> [String] {
    let found = shown.records(of: MemosApp.memoType).compactMap(MemoPlay.content)
    let lost = texts.lost(in: found)
    return lost.isEmpty ? [] : ["memos have lost \(lost)"]
  }

  private static func content(_ memo: Record) -> String? { memo.value?["content"]?.string }
}
