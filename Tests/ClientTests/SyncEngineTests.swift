import LockstepModel
import LockstepWire
import Testing

@testable import LockstepClient

/// The sync engine, event by event, with its exact actions.
struct SyncEngineTests: EngineScene {
  /// Makes an engine on a socket, in sync at `one`.
  private func online(_ outbox: OutboxSummary = OutboxSummary()) -> SyncEngine {
    var engine = SyncEngine()
    engine.loaded(.cursor(one), outbox)
    engine.isClockTrusted = true
    _ = engine.beginHello()
    engine.online(.webSocket, newest: one)
    return engine
  }

  @Test func nothingIsAskedWithoutAnUplink() {
    var engine = SyncEngine()
    engine.loaded(.nothing, waiting)
    engine.isClockTrusted = true
    #expect(engine.next() == nil)
    #expect(engine.beginOffer() == nil)
    #expect(!engine.isInSync)
  }

  @Test func greetedWithTheNewestCursorItIsInSync() {
    var engine = online()
    #expect(engine.next() == nil)
    #expect(engine.isInSync)
  }

  @Test func greetedWithAnOlderCursorItWaitsForWhatWasMissed() {
    var engine = SyncEngine()
    engine.loaded(.cursor(one), OutboxSummary())
    #expect(engine.beginHello() == one)
    engine.online(.webSocket, newest: two)
    #expect(engine.next() == nil)
    #expect(engine.awaitsBacklog)
    #expect(!engine.isInSync)
    engine.page(page(one, two), .push)
    #expect(engine.next() == .apply([.page(page(one, two))], nil))
    engine.finished(offered: false, applied: applied(two), batch: nil, outbox: OutboxSummary())
    #expect(engine.isInSync)
    #expect(!engine.awaitsBacklog)
  }

  /// A user syncs twice after sync has failed: the home is read again while refused changes are
  /// being retried.
  @Test func whatIsOnItsWayWhileTheHomeIsReadAnewIsStillOnItsWay() {
    var engine = online(waiting)
    engine.loaded(.cursor(one), waiting, applications: 1, isOffering: false)
    engine.online(.longPoll, newest: nil)
    #expect(engine.beginOffer() == nil)
    #expect(engine.next() == nil)
    engine.finished(offered: false, applied: applied(one), batch: nil, outbox: waiting)
    #expect(engine.next() == .fetch(since: one))
    engine.page(page(one, two), .fetch)
    guard case .apply? = engine.next() else {
      Issue.record("the page is not applied")
      return
    }
    // It is unknown yet if the page shows that more must be fetched first.
    #expect(engine.beginOffer() == nil)
  }

  @Test func aHomeWithoutACursorFetchesTheSnapshotPageByPage() {
    var engine = SyncEngine()
    engine.loaded(.nothing, waiting)
    engine.isClockTrusted = true
    #expect(engine.beginHello() == nil)
    engine.online(.webSocket, newest: three)
    #expect(engine.next() == .fetch(since: nil))
    #expect(engine.next() == nil)
    engine.page(page(nil, two, more: true), .fetch)
    #expect(engine.next() == .apply([.page(page(nil, two, more: true))], nil))
    // The next pages are fetched while this one is applied.
    #expect(engine.next() == .fetch(since: two))
    engine.page(page(two, one, more: true), .fetch)
    #expect(engine.next() == .fetch(since: one))
    #expect(engine.next() == nil)
    engine.finished(
      offered: false, applied: Applied(position: .snapshot(two)), batch: nil, outbox: waiting)
    // Pages that have arrived are applied before the next one is.
    #expect(engine.next() == .apply([.page(page(two, one, more: true))], nil))
    engine.page(page(one, three), .fetch)
    #expect(engine.next() == nil)
    // Nothing is saved in the middle of a snapshot.
    engine.finished(
      offered: false, applied: Applied(position: .snapshot(one)), batch: nil, outbox: waiting)
    #expect(engine.next() == .apply([.page(page(one, three))], nil))
    engine.finished(offered: false, applied: applied(three), batch: nil, outbox: waiting)
    #expect(engine.next() == .freezeBatch(BatchBounds()))
  }

  @Test func pagesThatWaitGoTogetherAndAreFew() {
    func token(_ number: Int) -> ChangeToken {
      ChangeToken(generation: 1, sequence: Int64(number))
    }
    func link(_ number: Int) -> ChangePage {
      page(number == 0 ? nil : token(number), token(number + 1), more: true)
    }
    var engine = SyncEngine()
    engine.loaded(.nothing, OutboxSummary())
    engine.online(.poll, newest: nil)
    #expect(engine.next() == .fetch(since: nil))
    engine.page(link(0), .fetch)
    #expect(engine.next() == .apply([.page(link(0))], nil))
    let last = Limits.pagesAhead
    for number in 1...last {
      #expect(engine.next() == .fetch(since: token(number)))
      engine.page(link(number), .fetch)
    }
    #expect(engine.next() == nil)
    engine.finished(
      offered: false, applied: Applied(position: .snapshot(token(1))), batch: nil,
      outbox: OutboxSummary())
    #expect(engine.next() == .apply((1...last).map { .page(link($0)) }, nil))
    #expect(engine.next() == .fetch(since: token(last + 1)))
    // The gap is fetched from the device's position.
    var gap = Applied(position: .snapshot(token(1)))
    gap.foundGap = true
    engine.finished(offered: false, applied: gap, batch: nil, outbox: OutboxSummary())
    #expect(engine.next() == nil)
    engine.page(link(last + 1), .fetch)
    #expect(engine.next() == .fetch(since: token(1)))
  }

  @Test func aFrozenBatchGoesBeforeAnythingIsFetched() {
    var engine = SyncEngine()
    engine.loaded(.cursor(one), frozen)
    engine.isClockTrusted = true
    #expect(engine.beginHello() == nil)
    engine.online(.webSocket, newest: two)
    #expect(engine.next() == .freezeBatch(BatchBounds()))
    #expect(engine.next() == nil)
    engine.finished(offered: true, applied: nil, batch: batch, outbox: frozen)
    #expect(engine.next() == .save(batch))
    // A push is not applied before the answer; it is fetched after it.
    engine.page(page(one, two), .push)
    #expect(engine.next() == nil)
    let answer = SaveAnswer(since: two, token: three, results: [])
    engine.saved(batch.id, answer)
    #expect(engine.next() == .apply([.answer(batch.id, answer, isLink: true)], nil))
    engine.finished(
      offered: false, applied: applied(one, isAtEnd: false), batch: nil, outbox: OutboxSummary())
    #expect(engine.next() == .fetch(since: one))
  }

  @Test func anOfferStandsUntilItsJobIsDone() {
    var engine = online()
    #expect(engine.beginOffer() == BatchBounds())
    #expect(engine.beginOffer() == nil)
    engine.finished(offered: true, applied: nil, batch: batch, outbox: frozen)
    #expect(engine.next() == .save(batch))
    #expect(engine.beginOffer() == nil)
    #expect(!engine.isInSync)
  }

  @Test func nothingIsOfferedWhileStampsAreGuesses() {
    var engine = online(waiting)
    engine.isClockTrusted = false
    #expect(engine.next() == nil)
    #expect(!engine.isInSync)
    engine.isClockTrusted = true
    #expect(engine.next() == .freezeBatch(BatchBounds()))
  }

  @Test func whatIsPushedWhileSomethingIsAppliedGoesTogether() {
    var engine = online()
    engine.page(page(one, two), .push)
    guard case .apply(_, let bounds)? = engine.next() else {
      Issue.record("nothing is applied")
      return
    }
    #expect(bounds == BatchBounds())
    engine.page(page(two, three), .push)
    engine.page(page(three, one), .push)
    #expect(engine.next() == nil)
    engine.finished(offered: true, applied: applied(two), batch: nil, outbox: OutboxSummary())
    let rest: [Arrival] = [.page(page(two, three)), .page(page(three, one))]
    #expect(engine.next() == .apply(rest, BatchBounds()))
  }

  @Test func moreThanItTakesIsDroppedAndFetched() {
    var engine = online()
    engine.page(page(one, two), .push)
    _ = engine.next()
    for _ in 0..<(Limits.waitingArrivals + 5) { engine.page(page(two, three), .push) }
    engine.finished(offered: true, applied: applied(two), batch: nil, outbox: OutboxSummary())
    guard case .apply(let arrivals, nil)? = engine.next() else {
      Issue.record("nothing is applied")
      return
    }
    #expect(arrivals.count == Limits.waitingArrivals)
    engine.finished(offered: false, applied: applied(three), batch: nil, outbox: OutboxSummary())
    #expect(engine.next() == .fetch(since: three))
  }

  @Test func aGapIsFetchedFromWhereItStands() {
    var engine = online()
    engine.page(page(two, three), .push)
    #expect(engine.next() == .apply([.page(page(two, three))], BatchBounds()))
    var gap = Applied(position: .cursor(one))
    gap.foundGap = true
    engine.finished(offered: true, applied: gap, batch: nil, outbox: OutboxSummary())
    #expect(!engine.isInSync)
    #expect(engine.next() == .fetch(since: one))
  }

  @Test func aHintIsFetchedUnlessItIsOld() {
    var engine = online()
    engine.hint(one)
    #expect(engine.next() == nil)
    engine.hint(two)
    #expect(engine.next() == .fetch(since: one))
    #expect(!engine.isInSync)
  }

  @Test func whatMustBeFetchedGoesBeforeNewBatches() {
    var engine = online()
    engine.hint(two)
    engine.finished(offered: false, applied: nil, batch: nil, outbox: waiting)
    #expect(engine.beginOffer() == nil)
    #expect(engine.next() == .fetch(since: one))
    #expect(engine.next() == nil)
    engine.page(page(one, two), .fetch)
    #expect(engine.next() == .apply([.page(page(one, two))], BatchBounds()))
  }

  @Test func byLongPollOneRequestIsAlwaysHeld() {
    var engine = SyncEngine()
    engine.loaded(.cursor(one), OutboxSummary())
    engine.isClockTrusted = true
    engine.online(.longPoll, newest: nil)
    #expect(engine.next() == .fetch(since: one))
    engine.page(page(one, one, count: 0), .fetch)
    #expect(engine.isInSync)
    #expect(engine.next() == .wait(since: one))
    #expect(engine.next() == nil)
    // A save runs in parallel, and does not move the cursor of the long-poll.
    engine.finished(offered: false, applied: nil, batch: nil, outbox: waiting)
    #expect(engine.next() == .freezeBatch(BatchBounds()))
    engine.finished(offered: true, applied: nil, batch: batch, outbox: frozen)
    #expect(engine.next() == .save(batch))
    let answer = SaveAnswer(since: one, token: two, results: [])
    engine.saved(batch.id, answer)
    #expect(engine.next() == .apply([.answer(batch.id, answer, isLink: false)], BatchBounds()))
    engine.finished(
      offered: true, applied: applied(one, isAtEnd: false), batch: nil, outbox: OutboxSummary())
    engine.page(page(one, two), .longPoll)
    #expect(engine.next() == .apply([.page(page(one, two))], BatchBounds()))
    engine.finished(offered: true, applied: applied(two), batch: nil, outbox: OutboxSummary())
    #expect(engine.next() == .wait(since: two))
  }

  @Test func aRoutinePollDoesNotPutSyncInDoubt() {
    var engine = SyncEngine()
    engine.loaded(.cursor(one), OutboxSummary())
    engine.online(.poll, newest: nil)
    #expect(engine.next() == .fetch(since: one))
    #expect(!engine.isInSync)
    engine.page(page(one, one, count: 0), .fetch)
    #expect(engine.isSettled)
    engine.poll()
    #expect(engine.isInSync)
    #expect(!engine.isSettled)
    #expect(engine.next() == .fetch(since: one))
    #expect(engine.isInSync)
  }

  @Test func aPlanThatDoesNotIncludeAZoneBlocksThatZoneAlone() {
    var engine = online()
    _ = engine.beginOffer()
    engine.finished(offered: true, applied: nil, batch: batch, outbox: frozen)
    #expect(engine.next() == .save(batch))
    let refusal = Refusal(.planRequired, "not in the plan")
    engine.saveRefused(batch.id, refusal)
    #expect(engine.next() == .refuseBatch(batch.id, refusal))
    engine.finished(
      offered: false, applied: applied(one, isAtEnd: false), batch: nil, outbox: waiting)
    #expect(engine.next() == nil)
    #expect(engine.isInSync)
    #expect(engine.blockedZones == [TestApp.zone])
    var both = waiting
    both.waiting.append(.init(zone: Name(trusted: "Other"), count: 1))
    engine.finished(offered: false, applied: nil, batch: nil, outbox: both)
    #expect(engine.next() == .freezeBatch(BatchBounds(blockedZones: [TestApp.zone])))
  }

  @Test func aZoneOutOfTheDevicesScopeIsHeldBackAlone() {
    var engine = online()
    _ = engine.beginOffer()
    engine.finished(offered: true, applied: nil, batch: batch, outbox: frozen)
    #expect(engine.next() == .save(batch))
    let refusal = Refusal(.outOfScope, "not for this device")
    engine.saveRefused(batch.id, refusal)
    #expect(engine.next() == .refuseBatch(batch.id, refusal))
    engine.finished(
      offered: false, applied: applied(one, isAtEnd: false), batch: nil, outbox: waiting)
    #expect(engine.next() == nil)
    #expect(engine.zonesOutOfScope == [TestApp.zone] && engine.blockedZones.isEmpty)
    engine.unblockZones()
    #expect(engine.next() == .freezeBatch(BatchBounds()))
  }

  @Test func whatTheDeviceKnowsToBeOutOfItsScopeIsNotSent() {
    var engine = online()
    var outside = waiting
    outside.outOfScope = [TestApp.zone]
    engine.finished(offered: false, applied: nil, batch: nil, outbox: outside)
    #expect(engine.next() == nil)
    #expect(engine.isInSync && engine.zonesOutOfScope == [TestApp.zone])
  }

  @Test func aBatchThatCannotBeTakenIsHalved() {
    var large = batch
    large.mutations = (0..<9).map { index in
      var mutation = batch.mutations[0]
      mutation.name = Name(trusted: "n\(index)")
      return mutation
    }
    var engine = online()
    _ = engine.beginOffer()
    engine.finished(offered: true, applied: nil, batch: large, outbox: frozen)
    _ = engine.next()
    engine.saveRefused(large.id, Refusal(.bodyTooLarge, "too large"))
    guard case .refuseBatch? = engine.next() else {
      Issue.record("the batch stays frozen")
      return
    }
    engine.finished(
      offered: false, applied: applied(one, isAtEnd: false), batch: nil, outbox: waiting)
    #expect(engine.next() == .freezeBatch(BatchBounds(records: 4)))
  }

  @Test func aRefusalForNowIsWaitedOutWithTheSameBatch() {
    var engine = online()
    _ = engine.beginOffer()
    engine.finished(offered: true, applied: nil, batch: batch, outbox: frozen)
    _ = engine.next()
    let refusal = Refusal(.overloaded, "busy")
    engine.saveRefused(batch.id, refusal)
    #expect(engine.next() == .pause(refusal))
    #expect(engine.isPaused)
    #expect(engine.next() == nil)
    engine.resume()
    #expect(engine.next() == .freezeBatch(BatchBounds()))
  }

  @Test func aCursorThatLeadsNowhereIsForgotten() {
    for code in [RefusalCode.tokenExpired, .storeRestored, .filterChanged, .badChangeToken] {
      var engine = online()
      engine.hint(two)
      #expect(engine.next() == .fetch(since: one))
      engine.fetchRefused(Refusal(code, "gone"), .fetch)
      let lost: ChangeTag? = [.storeRestored, .badChangeToken].contains(code) ? 0 : nil
      #expect(engine.next() == .forgetCursor(restoredThrough: lost))
      #expect(engine.next() == nil)
      engine.finished(
        offered: false, applied: Applied(position: .nothing), batch: nil, outbox: OutboxSummary())
      #expect(engine.next() == .fetch(since: nil))
      // A second refusal pauses the sync.
      engine.fetchRefused(Refusal(code, "gone"), .fetch)
      #expect(engine.next() == .pause(Refusal(code, "gone")))
    }
  }

  /// Its tags are those of the batch. How far back a relay of another history went is known once it
  /// is asked with the cursor.
  @Test func aRefusedSaveReportsWhatIsLostOfTheSameHistoryOnly() {
    for (generation, through) in [(1, 7), (9, nil)] as [(UInt32, ChangeTag?)] {
      var engine = online()
      _ = engine.beginOffer()
      engine.finished(offered: true, applied: nil, batch: batch, outbox: frozen)
      _ = engine.next()
      let stands = ChangeToken(generation: generation, sequence: 99)
      let refusal = Refusal(.storeRestored, "gone", restoredThrough: 7, token: stands)
      engine.saveRefused(batch.id, refusal)
      #expect(engine.next() == .refuseBatch(batch.id, refusal))
      #expect(engine.next() == .forgetCursor(restoredThrough: through, in: generation))
    }
  }

  /// Without a pause, a faulty relay would keep the device reading snapshots.
  @Test func aRelayThatRefusesEachOfItsCursorsIsAskedAfterAPause() {
    var engine = online()
    let refusal = Refusal(.storeRestored, "gone")
    for lost in 1...Limits.lostCursors + 1 {
      engine.hint(two)
      #expect(engine.next() == .fetch(since: one))
      engine.fetchRefused(refusal, .fetch)
      #expect(engine.next() == .forgetCursor(restoredThrough: 0))
      #expect(engine.isPaused == (lost > Limits.lostCursors))
      guard !engine.isPaused else { break }
      engine.finished(
        offered: false, applied: Applied(position: .nothing), batch: nil, outbox: OutboxSummary())
      #expect(engine.next() == .fetch(since: nil))
      engine.page(page(nil, one), .fetch)
      _ = engine.next()
      engine.finished(
        offered: false, applied: Applied(position: .cursor(one), isAtEnd: true), batch: nil,
        outbox: OutboxSummary())
    }
    #expect(engine.next() == .pause(refusal))
    engine.finished(
      offered: false, applied: Applied(position: .nothing), batch: nil, outbox: OutboxSummary())
    #expect(engine.next() == nil)
    engine.resume()
    #expect(engine.next() == .fetch(since: nil))
  }

  @Test func aRestoredRelayTellsHowFarBackItWent() {
    for (code, reported, through) in [
      (RefusalCode.storeRestored, 7 as ChangeTag?, 7 as ChangeTag), (.badChangeToken, nil, 0),
    ] {
      var engine = online()
      engine.hint(two)
      _ = engine.next()
      let stands = ChangeToken(generation: 9, sequence: 99)
      engine.fetchRefused(Refusal(code, "gone", restoredThrough: reported, token: stands), .fetch)
      #expect(engine.next() == .forgetCursor(restoredThrough: through, in: 9))
    }
  }

  @Test func aSnapshotsTokenThatLeadsNowhereIsForgottenBeforeItsPageIsApplied() {
    var engine = SyncEngine()
    engine.loaded(.nothing, OutboxSummary())
    engine.online(.poll, newest: nil)
    _ = engine.next()
    engine.page(page(nil, two, more: true), .fetch)
    _ = engine.next()
    #expect(engine.next() == .fetch(since: two))
    engine.fetchRefused(Refusal(.tokenExpired, "gone"), .fetch)
    #expect(engine.next() == .forgetCursor(restoredThrough: nil))
    #expect(engine.next() == nil)
    engine.finished(
      offered: false, applied: Applied(position: .snapshot(two)), batch: nil,
      outbox: OutboxSummary())
    engine.finished(
      offered: false, applied: Applied(position: .nothing), batch: nil, outbox: OutboxSummary())
    #expect(engine.next() == .fetch(since: nil))
  }

  @Test func whatIsLostIsBroughtBackUntilThereIsNoMore() {
    var engine = SyncEngine()
    var summary = OutboxSummary()
    summary.mayBringBack = true
    engine.loaded(.cursor(one), summary)
    engine.isClockTrusted = true
    _ = engine.beginHello()
    #expect(engine.next() == .bringBack)
    #expect(engine.next() == nil)
    engine.online(.webSocket, newest: one)
    #expect(!engine.isInSync)
    var brought = waiting
    brought.mayBringBack = true
    engine.finished(
      offered: false, applied: Applied(position: .cursor(one)), batch: nil, outbox: brought)
    #expect(engine.next() == .bringBack)
    engine.finished(
      offered: false, applied: Applied(position: .cursor(one)), batch: nil, outbox: waiting)
    #expect(engine.next() == .freezeBatch(BatchBounds()))
  }

  @Test func aBlockedZoneIsTriedAgainWhenThePlanMayBeAnother() {
    var engine = online()
    _ = engine.beginOffer()
    engine.finished(offered: true, applied: nil, batch: batch, outbox: frozen)
    _ = engine.next()
    engine.saveRefused(batch.id, Refusal(.planRequired, "not in the plan"))
    _ = engine.next()
    engine.finished(
      offered: false, applied: applied(one, isAtEnd: false), batch: nil, outbox: waiting)
    #expect(engine.next() == nil)
    engine.unblockZones()
    #expect(!engine.isInSync)
    #expect(engine.next() == .freezeBatch(BatchBounds()))
  }

  @Test func whatTheStoreIsToBeToldSurvivesTheUplink() {
    var engine = online()
    _ = engine.beginOffer()
    engine.finished(offered: true, applied: nil, batch: batch, outbox: frozen)
    _ = engine.next()
    let answer = SaveAnswer(since: one, token: two, results: [])
    engine.saved(batch.id, answer)
    engine.offline()
    #expect(engine.next() == .apply([.answer(batch.id, answer, isLink: true)], nil))
    #expect(engine.next() == nil)
  }

  @Test func stampsInTheFutureAreMeasuredAndThenWaitedOut() {
    var engine = online(waiting)
    #expect(engine.next() == .freezeBatch(BatchBounds()))
    for round in 0..<2 {
      engine.finished(offered: true, applied: nil, batch: batch, outbox: frozen)
      #expect(engine.next() == .save(batch))
      engine.saved(batch.id, SaveAnswer(since: one, token: one, results: []))
      guard case .apply(_, let bounds)? = engine.next() else {
        Issue.record("nothing is applied")
        return
      }
      var ahead = Applied(position: .cursor(one), hasAnswer: true)
      ahead.clockAhead = true
      engine.finished(offered: bounds != nil, applied: ahead, batch: nil, outbox: waiting)
      #expect(engine.next() == .measureClock)
      #expect(!engine.isClockTrusted)
      engine.isClockTrusted = true
      if round == 0 { #expect(engine.next() == .freezeBatch(BatchBounds())) }
    }
    guard case .pause? = engine.next() else {
      Issue.record("a second fault in a row is not waited out")
      return
    }
  }
}
