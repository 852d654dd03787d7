import LockstepClient
import Testing

@testable import LockstepSimulation

struct WrittenTextsTests {
  private func order(_ number: UInt64) -> OrderID { OrderID(rawValue: number) }

  @Test func onlyWhatWasReplacedOrRemovedMayBeGone() {
    var texts = WrittenTexts()
    let writings: [(String?, String?)] = [(nil, "a"), ("a", "b"), ("a", "c")]
    for (number, writing) in writings.enumerated() {
      texts.recordOrder(order(UInt64(number)), old: writing.0, new: writing.1)
      texts.recordApplied(order(UInt64(number)))
    }
    #expect(texts.missing(in: ["b", "c"]).isEmpty)
    #expect(texts.missing(in: ["c"]) == ["b"])
    texts.recordOrder(order(7), old: "b", new: nil)
    texts.recordApplied(order(7))
    #expect(texts.missing(in: ["c", "more"]).isEmpty)
  }

  @Test func whatWasRefusedChangesNothing() {
    var texts = WrittenTexts()
    texts.recordOrder(order(1), old: nil, new: "a")
    texts.recordApplied(order(1))
    texts.recordOrder(order(2), old: "a", new: "b")
    texts.recordRefused(order(2))
    texts.recordApplied(order(2))
    #expect(texts.missing(in: []) == ["a"])
  }
}
