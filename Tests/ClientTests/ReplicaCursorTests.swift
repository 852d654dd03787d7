import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepClient

/// A device compares positions, regardless of the account's newest tag when a token was made.
struct ReplicaCursorTests {
  private func token(_ sequence: Int64, horizon: Int64? = nil) -> ChangeToken {
    ChangeToken(generation: 1, sequence: sequence, horizon: horizon)
  }

  /// Makes a replica at position 5 that knows that the account had reached 9 by then.
  private func harness() throws -> ReplicaHarness {
    var harness = try ReplicaHarness()
    let page = ChangePage(
      since: token(1), token: token(5, horizon: 9), more: false,
      changes: [harness.record("a", "old", at: 10, tag: 5)])
    harness.perform(.apply([.page(page)]))
    #expect(try harness.store.cursor() == token(5, horizon: 9))
    return harness
  }

  private func applied(_ harness: ReplicaHarness) throws -> Applied {
    guard case .success(.applied(let applied)) = harness.outcome.result else {
      throw TestFault("\(harness.outcome.result)")
    }
    return applied
  }

  @Test func aPushFromTheSamePlaceIsFollowedWithoutAFetch() throws {
    var harness = try harness()
    let applied = harness.page([harness.record("b", "new", at: 20, tag: 6)], from: 5, to: 6)
    #expect(applied?.foundGap == false)
    #expect(applied?.isAtEnd == true)
    #expect(try harness.store.record(.desk("b"))?.text == "new")
  }

  @Test func whatWasPassedOverIsKeptInMindUntilItIsTold() throws {
    var harness = try harness()
    harness.page([harness.record("b", "new", at: 20, tag: 6)], from: 5, to: 6)
    #expect(try harness.store.cursor() == token(6, horizon: 9))
    harness.page([harness.record("c", "new", at: 20, tag: 9)], from: 6, to: 9)
    #expect(try harness.store.cursor() == token(9))
  }

  @Test func anAnswerFromTheSamePlaceIsALink() throws {
    var harness = try harness()
    _ = harness.edit(.note("b", "mine"))
    let batch = try harness.freezeOneBatch()
    let answer = SaveAnswer(
      since: token(5), token: token(6), results: [.saved(name: batch.mutations[0].name, tag: 6)])
    harness.perform(.apply([.answer(batch.id, answer, isLink: true)]))
    #expect(try applied(harness).foundGap == false)
    #expect(try harness.store.cursor() == token(6, horizon: 9))
  }

  @Test func aHintAtTheSamePlaceCostsNoFetch() {
    var engine = SyncEngine()
    engine.loaded(.cursor(token(5, horizon: 9)), OutboxSummary())
    let greeting = engine.beginHello()
    #expect(greeting == token(5, horizon: 9))
    engine.online(.webSocket, newest: token(5))
    engine.hint(token(5))
    engine.page(
      ChangePage(since: token(5), token: token(5), more: false, changes: []), .push)
    #expect(engine.next() == nil)
    #expect(engine.isSettled)
  }
}
