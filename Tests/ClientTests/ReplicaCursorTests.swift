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

  /// Saves a note. The account went from `since` to `tag` by that.
  private func save(
    _ name: String, since: Int64, tag: Int64, _ harness: inout ReplicaHarness
  ) throws -> Applied {
    _ = harness.edit(.note(name, "mine"))
    let batch = try harness.freezeOneBatch()
    let answer = SaveAnswer(
      since: token(since), token: token(tag),
      results: [.saved(name: batch.mutations[0].name, tag: tag)])
    harness.perform(.apply([.answer(batch.id, answer, isLink: true)]))
    return try applied(harness)
  }

  /// The relay's disk went back to the tag 1, and the device learns of it only if it asks for what
  /// came after its own save.
  @Test func anAnswerThatPassesOverAnAcknowledgedTagIsNoLink() throws {
    var harness = try ReplicaHarness()
    let first = try save("first", since: 2, tag: 3, &harness)
    #expect(first.position == .cursor(token(1, horizon: 3)))
    let second = try save("second", since: 1, tag: 1_001, &harness)
    #expect(second.foundGap)
    #expect(second.position == .cursor(token(1, horizon: 3)))
    // The relay refuses this token: what it has lost is saved again.
    harness.perform(.forgetCursor(restoredThrough: 1, lostThrough: 1_000, in: 1))
    harness.page(
      [harness.record("second", "mine", at: 1_000_000, tag: 1_001)], from: nil, to: 1_001)
    harness.bringBack()
    #expect(try harness.sendAll(from: 1_002).map(\.name.text) == ["first"])
  }

  /// A record may have gone back to a tag that the device has passed over, so the relay must be
  /// asked with the tag that shows this.
  @Test(arguments: [5, 1_001] as [Int64])
  func anAnswerDoesNotReplaceATagThatTheRelayHasNotConfirmed(_ since: Int64) throws {
    var harness = try harness()
    let applied = try save("b", since: since, tag: 1_002, &harness)
    #expect(applied.foundGap)
    #expect(applied.position == .cursor(token(5, horizon: 9)))
    #expect(try harness.store.cursor() == token(5, horizon: 9))
  }

  @Test func aTagOfAnAnswerThatNoRequestHasNamedIsAskedFor() throws {
    var harness = try harness()
    _ = try save("b", since: 12, tag: 13, &harness)
    harness.reopen()
    // The relay went back to a state after the tag 9, which the request named.
    let end = harness.page([harness.record("c", "new", at: 20, tag: 10)], from: 5, to: 10)
    #expect(end?.position == .cursor(token(10, horizon: 13)))
    #expect(end?.isAtEnd == false)
    #expect(end?.foundGap == true)
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
