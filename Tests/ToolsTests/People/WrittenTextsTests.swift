import LockstepClient
import Testing

@testable import LockstepTools

struct WrittenTextsTests {
  private func order(_ number: UInt64) -> OrderID { OrderID(rawValue: number) }

  @Test func onlyWhatWasReplacedOrRemovedMayBeGone() {
    var texts = WrittenTexts()
    let writings: [(String?, String?)] = [(nil, "a"), ("a", "b"), ("a", "c")]
    for (number, writing) in writings.enumerated() {
      texts.ordered(order(UInt64(number)), old: writing.0, new: writing.1)
      texts.done(order(UInt64(number)))
    }
    #expect(texts.lost(in: ["b", "c"]).isEmpty)
    #expect(texts.lost(in: ["c"]) == ["b"])
    texts.ordered(order(7), old: "b", new: nil)
    texts.done(order(7))
    #expect(texts.lost(in: ["c", "more"]).isEmpty)
  }

  @Test func whatWasRefusedChangesNothing() {
    var texts = WrittenTexts()
    texts.ordered(order(1), old: nil, new: "a")
    texts.done(order(1))
    texts.ordered(order(2), old: "a", new: "b")
    texts.dropped(order(2))
    texts.done(order(2))
    #expect(texts.lost(in: []) == ["a"])
  }
}
