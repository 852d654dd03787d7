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
  private func desk() throws -> Desk {
    var desk = try Desk()
    let page = ChangePage(
      since: token(1), token: token(5, horizon: 9), more: false,
      changes: [desk.record("a", "old", at: 10, tag: 5)])
    desk.perform(.apply([.page(page)]))
    #expect(try desk.store.cursor() == token(5, horizon: 9))
    return desk
  }

  private func applied(_ desk: Desk) throws -> Applied {
    guard case .success(.applied(let applied)) = desk.outcome.result else {
      throw TestFault("\(desk.outcome.result)")
    }
    return applied
  }

  @Test func aPushFromTheSamePlaceIsFollowedWithoutAFetch() throws {
    var desk = try desk()
    let applied = desk.page([desk.record("b", "new", at: 20, tag: 6)], from: 5, to: 6)
    #expect(applied?.foundGap == false)
    #expect(applied?.isAtEnd == true)
    #expect(try desk.store.record(.desk("b"))?.text == "new")
  }

  @Test func whatWasPassedOverIsKeptInMindUntilItIsTold() throws {
    var desk = try desk()
    desk.page([desk.record("b", "new", at: 20, tag: 6)], from: 5, to: 6)
    #expect(try desk.store.cursor() == token(6, horizon: 9))
    desk.page([desk.record("c", "new", at: 20, tag: 9)], from: 6, to: 9)
    #expect(try desk.store.cursor() == token(9))
  }

  @Test func anAnswerFromTheSamePlaceIsALink() throws {
    var desk = try desk()
    _ = desk.edit(.note("b", "mine"))
    let batch = try desk.takeOne()
    let answer = SaveAnswer(
      since: token(5), token: token(6), results: [.saved(name: batch.mutations[0].name, tag: 6)])
    desk.perform(.apply([.answer(batch.id, answer, isLink: true)]))
    #expect(try applied(desk).foundGap == false)
    #expect(try desk.store.cursor() == token(6, horizon: 9))
  }

  @Test func aHintAtTheSamePlaceCostsNoFetch() {
    var engine = SyncEngine()
    engine.loaded(.cursor(token(5, horizon: 9)), OutboxSummary())
    let greeting = engine.greet()
    #expect(greeting == token(5, horizon: 9))
    engine.online(.webSocket, newest: token(5))
    engine.hint(token(5))
    engine.page(
      ChangePage(since: token(5), token: token(5), more: false, changes: []), .push)
    #expect(engine.next() == nil)
    #expect(engine.isSettled)
  }
}
