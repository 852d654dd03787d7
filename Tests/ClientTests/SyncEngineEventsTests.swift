import LockstepModel
import LockstepWire
import Testing

@testable import LockstepClient

/// The sync engine with a stream of events.
struct SyncEngineEventsTests: EngineScene {
  /// Makes an engine with a stream of events, in sync at `one`.
  private func listening() -> SyncEngine {
    var engine = SyncEngine()
    engine.loaded(.cursor(one), OutboxSummary())
    engine.isClockTrusted = true
    engine.online(.events, newest: nil)
    #expect(engine.next() == .fetch(since: one))
    engine.page(page(one, one, count: 0), .fetch)
    #expect(engine.isInSync)
    #expect(engine.next() == .listen(since: one))
    #expect(engine.next() == nil)
    return engine
  }

  @Test func aStreamIsListenedToOnce() {
    var engine = listening()
    engine.page(page(one, one, count: 0), .stream)
    #expect(engine.next() == nil)
    engine.page(page(one, two, more: true), .stream)
    // The relay continues without a request.
    #expect(engine.next() == .apply([.page(page(one, two, more: true))], BatchBounds()))
    engine.finished(offered: true, applied: applied(two), batch: nil, outbox: OutboxSummary())
    #expect(engine.next() == nil)
    #expect(engine.isInSync)
    engine.hint(three)
    #expect(engine.next() == .fetch(since: two))
    engine.page(page(two, three), .fetch)
    #expect(engine.next() == .apply([.page(page(two, three))], BatchBounds()))
    engine.finished(offered: true, applied: applied(three), batch: nil, outbox: OutboxSummary())
    #expect(engine.next() == nil)
    // The page that follows the hint is known, or begins before the device's position.
    engine.page(page(one, three), .stream)
    #expect(engine.next() == nil)
    #expect(engine.isInSync)
  }

  @Test func aSaveMovesTheCursorBesideAStream() {
    var engine = listening()
    engine.finished(offered: false, applied: nil, batch: nil, outbox: waiting)
    #expect(engine.next() == .freezeBatch(BatchBounds()))
    engine.finished(offered: true, applied: nil, batch: batch, outbox: frozen)
    #expect(engine.next() == .save(batch))
    let answer = SaveAnswer(since: one, token: two, results: [])
    engine.saved(batch.id, answer)
    #expect(engine.next() == .apply([.answer(batch.id, answer, isLink: true)], BatchBounds()))
    engine.finished(offered: true, applied: applied(two), batch: nil, outbox: OutboxSummary())
    // Its own save comes back on the stream.
    engine.page(page(one, two), .stream)
    #expect(engine.next() == nil)
    #expect(engine.isInSync)
  }

  @Test func aStreamWhoseCursorIsRefusedBeginsAnewBehindTheSnapshot() {
    var engine = listening()
    engine.fetchRefused(Refusal(.tokenExpired, "too old"), .stream)
    #expect(engine.next() == .forgetCursor(restoredThrough: nil))
    engine.finished(
      offered: false, applied: Applied(position: .nothing), batch: nil, outbox: OutboxSummary())
    #expect(engine.next() == .fetch(since: nil))
    engine.page(page(nil, three), .fetch)
    #expect(engine.next() == .apply([.page(page(nil, three))], nil))
    engine.finished(offered: false, applied: applied(three), batch: nil, outbox: OutboxSummary())
    #expect(engine.next() == .listen(since: three))
  }

  @Test func aStreamThatIsRefusedForNowIsAskedForAgain() {
    var engine = listening()
    let refusal = Refusal(.overloaded, "later")
    engine.fetchRefused(refusal, .stream)
    #expect(engine.next() == .pause(refusal))
    #expect(engine.next() == nil)
    engine.resume()
    #expect(engine.next() == .fetch(since: one))
    engine.page(page(one, one, count: 0), .fetch)
    #expect(engine.next() == .listen(since: one))
    engine.offline()
    engine.online(.events, newest: nil)
    #expect(engine.next() == .fetch(since: one))
  }
}
