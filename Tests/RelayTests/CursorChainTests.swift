import LockstepModel
import Testing

@testable import LockstepRelay

/// The cursor chain, event by event.
struct CursorChainTests {
  private func at(_ sequence: Int64, pinned: Int64? = nil) -> ChangeToken {
    ChangeToken(generation: 7, sequence: sequence, pinned: pinned)
  }

  private func live(at sequence: Int64) -> CursorChain {
    var chain = CursorChain()
    expect(chain.begin(since: at(sequence), newest: at(sequence)), is: .nothing)
    #expect(chain.state == .live)
    return chain
  }

  private func answer(_ since: Int64, _ token: Int64, _ number: Int = 1) -> CursorChain.Saved {
    CursorChain.Saved(
      id: batch(number), answer: SaveAnswer(since: at(since), token: at(token), results: []))
  }

  private func commit(
    _ chain: inout CursorChain, _ since: Int64, _ token: Int64, isOwn: Bool = false,
    isLarge: Bool = false, isCrowded: Bool = false, isClogged: Bool = false
  ) -> CursorChain.Push {
    chain.handleCommit(
      since: at(since), token: at(token), isOwn: isOwn, isLarge: isLarge, isCrowded: isCrowded,
      isClogged: isClogged)
  }

  @Test func commitsInOrderArePushed() {
    var chain = live(at: 3)
    expect(commit(&chain, 3, 4), is: .push)
    expect(commit(&chain, 4, 6), is: .push)
    #expect(chain.cursor == at(6))
  }

  @Test func commitsTogetherAreOneLink() {
    var chain = live(at: 3)
    expect(chain.handleCommits(since: at(3), token: at(7)), is: true)
    #expect(chain.cursor == at(7) && chain.state == .live)
    expect(commit(&chain, 7, 8), is: .push)
    // Known, a gap, or not live.
    expect(chain.handleCommits(since: at(3), token: at(7)), is: false)
    expect(chain.handleCommits(since: at(9), token: at(11)), is: false)
    #expect(chain.cursor == at(8) && chain.state == .live)
    chain.beginFetch(ofWholeAccount: true)
    expect(chain.handleCommits(since: at(8), token: at(9)), is: false)
    #expect(chain.cursor == at(8) && chain.state == .fetching)
  }

  @Test func aFetchToTheSamePlaceLeavesTheTextThatTheDeviceHas() {
    var chain = live(at: 5)
    chain.beginFetch(ofWholeAccount: true)
    var ahead = at(5)
    ahead.horizon = 9
    expect(chain.completeFetch(to: ahead, more: false), is: .nothing)
    #expect(chain.cursor == ahead)
    // The commit's own link begins with another text, so the changes after it are read.
    expect(commit(&chain, 5, 6), is: .read)
    #expect(chain.awaitsPage(since: ahead))
  }

  @Test func aCommitThatIsKnownIsDropped() {
    var chain = live(at: 5)
    expect(commit(&chain, 3, 4), is: .nothing)
    expect(commit(&chain, 4, 5), is: .nothing)
    #expect(chain.state == .live)
  }

  @Test func aGapIsRead() {
    var chain = live(at: 3)
    expect(commit(&chain, 4, 5), is: .read)
    #expect(chain.state == .catchingUp)
    expect(commit(&chain, 5, 6), is: .nothing)
    #expect(chain.awaitsPage(since: at(3)))
    #expect(!chain.awaitsPage(since: at(4)))
    // The page was read before the last commit.
    expect(chain.handleSentPage(to: at(5), more: false), is: .read)
    expect(chain.handleSentPage(to: at(6), more: false), is: .nothing)
    #expect(chain.state == .live)
  }

  @Test func pagesAreReadToTheEnd() {
    var chain = CursorChain()
    expect(chain.begin(since: at(1, pinned: 9), newest: at(12)), is: .read)
    expect(chain.handleSentPage(to: at(5, pinned: 9), more: true), is: .read)
    expect(chain.handleSentPage(to: at(9), more: false), is: .read)
    expect(chain.handleSentPage(to: at(12), more: false), is: .nothing)
    #expect(chain.state == .live)
  }

  @Test func nothingIsSaidBeforeTheWelcome() {
    var chain = CursorChain()
    expect(commit(&chain, 3, 4), is: .nothing)
    var other = chain
    expect(chain.begin(since: at(3), newest: at(3)), is: .read)
    expect(other.begin(since: nil, newest: at(3)), is: .hint)
    #expect(other.hintToken == at(4))
  }

  @Test func withoutACursorEachCommitIsHintedWhileBytesAreTaken() {
    var chain = CursorChain()
    expect(chain.begin(since: nil, newest: at(0)), is: .nothing)
    expect(commit(&chain, 0, 1), is: .hint)
    expect(commit(&chain, 1, 2, isLarge: true), is: .hint)
    expect(commit(&chain, 2, 3, isCrowded: true, isClogged: true), is: .nothing)
    expect(commit(&chain, 3, 4, isClogged: true), is: .nothing)
    expect(chain.handleUnclogged(), is: .hint)
    expect(chain.handleUnclogged(), is: .nothing)
    #expect(chain.hintToken == at(4))
    expect(commit(&chain, 4, 5), is: .hint)
    expect(commit(&chain, 5, 6, isOwn: true), is: .nothing)
  }

  @Test func whoIsBehindIsHintedWhileBytesAreTaken() {
    var chain = live(at: 3)
    expect(commit(&chain, 3, 4, isLarge: true), is: .hint)
    #expect(chain.state == .behind)
    expect(commit(&chain, 4, 5, isClogged: true), is: .nothing)
    expect(chain.handleUnclogged(), is: .hint)
    // The device may have acted on the hint by HTTP, which the chain does not see.
    expect(commit(&chain, 4, 5), is: .nothing)
    expect(commit(&chain, 5, 6), is: .hint)
    chain.beginFetch(ofWholeAccount: true)
    expect(commit(&chain, 6, 7), is: .nothing)
    expect(chain.completeFetch(to: at(6), more: false), is: .read)
    expect(chain.handleSentPage(to: at(7), more: false), is: .nothing)
    expect(commit(&chain, 7, 8), is: .push)
  }

  @Test func whoTakesNoBytesIsHinted() {
    var chain = live(at: 3)
    expect(commit(&chain, 3, 4, isCrowded: true), is: .hint)
    #expect(chain.state == .behind)
  }

  // MARK: streams

  private func stream(at sequence: Int64) -> CursorChain {
    var chain = CursorChain(isOneWay: true)
    chain.beginReading(from: at(sequence))
    expect(chain.handleSentPage(to: at(sequence), more: false), is: .nothing)
    #expect(chain.state == .live)
    return chain
  }

  @Test func aStreamHearsWhatHappenedWhileItsFirstPageWasRead() {
    var chain = CursorChain(isOneWay: true)
    expect(commit(&chain, 3, 4), is: .nothing)
    chain.beginReading(from: at(1))
    #expect(chain.awaitsPage(since: at(1)))
    expect(commit(&chain, 4, 5), is: .nothing)
    expect(chain.handleSentPage(to: at(3), more: false), is: .read)
    expect(chain.handleSentPage(to: at(5), more: false), is: .nothing)
    expect(commit(&chain, 5, 6), is: .push)
  }

  @Test func aStreamIsToldOfItsDevicesOwnSaves() {
    var chain = stream(at: 3)
    expect(commit(&chain, 3, 4), is: .push)
    #expect(chain.cursor == at(4))
  }

  @Test func afterAHintTheNextCommitIsReadForAStream() {
    var chain = stream(at: 3)
    expect(commit(&chain, 3, 4, isLarge: true), is: .hint)
    #expect(chain.hintToken == at(4))
    #expect(chain.cursor == at(3))
    expect(commit(&chain, 4, 5, isLarge: true), is: .read)
    #expect(chain.awaitsPage(since: at(3)))
    expect(commit(&chain, 5, 6), is: .nothing)
    expect(chain.handleSentPage(to: at(5), more: false), is: .read)
    expect(chain.handleSentPage(to: at(6), more: false), is: .nothing)
    expect(commit(&chain, 6, 7), is: .push)
  }

  @Test func aStreamThatTakesNoBytesIsReadForWhenItDoes() {
    var chain = stream(at: 3)
    expect(commit(&chain, 3, 4, isCrowded: true, isClogged: true), is: .read)
    expect(commit(&chain, 4, 5, isCrowded: true, isClogged: true), is: .nothing)
    expect(chain.handleUnclogged(), is: .nothing)
    #expect(chain.awaitsPage(since: at(3)))
    expect(chain.handleSentPage(to: at(5), more: false), is: .nothing)
    #expect(chain.state == .live)
  }

  @Test func aStreamWhoseBacklogCannotBeReadIsHintedAndThenReadFor() {
    var chain = stream(at: 3)
    expect(commit(&chain, 4, 5), is: .read)
    expect(chain.handlePageFailure(), is: .hint)
    expect(commit(&chain, 5, 6), is: .read)
    expect(chain.handleSentPage(to: at(6), more: false), is: .nothing)
  }

  // MARK: fetches

  @Test func aFetchOfAZoneLetsHintsComeAgain() {
    var chain = live(at: 3)
    expect(commit(&chain, 3, 4, isLarge: true), is: .hint)
    chain.beginFetch(ofWholeAccount: false)
    #expect(chain.state == .behind)
    expect(commit(&chain, 4, 5), is: .hint)
    expect(commit(&chain, 5, 6), is: .hint)
  }

  @Test func whoHasMorePagesIsBehind() {
    var chain = live(at: 3)
    chain.beginFetch(ofWholeAccount: true)
    expect(chain.completeFetch(to: at(2), more: true), is: .nothing)
    #expect(chain.state == .behind)
    expect(commit(&chain, 3, 4), is: .hint)
  }

  @Test func aFetchDoesNotTakeTheChainBack() {
    var chain = live(at: 9)
    chain.beginFetch(ofWholeAccount: true)
    expect(chain.completeFetch(to: at(5), more: false), is: .nothing)
    #expect(chain.cursor == at(9))
    #expect(chain.state == .live)
  }

  @Test func aFetchThatFailsLeavesTheDeviceBehind() {
    var chain = live(at: 3)
    chain.beginFetch(ofWholeAccount: true)
    chain.failFetch()
    #expect(chain.state == .behind)
    expect(commit(&chain, 3, 4), is: .hint)
  }

  @Test func whatCannotBeReadIsHinted() {
    var chain = live(at: 3)
    expect(commit(&chain, 4, 5), is: .read)
    expect(chain.handlePageFailure(), is: .hint)
    #expect(chain.hintToken == at(5))
    expect(commit(&chain, 5, 6), is: .hint)
  }

  @Test func aRefusedCursorIsGone() {
    var chain = CursorChain()
    expect(chain.begin(since: at(1), newest: at(3)), is: .read)
    chain.clearCursor()
    #expect(chain.state == .unset)
    expect(commit(&chain, 3, 4), is: .hint)
  }

  @Test func whatIsPassedOverComesWithTheNextThatWakes() {
    var chain = live(at: 3)
    chain.recordUnmatched(at(4), isOwn: false)
    chain.recordUnmatched(at(5), isOwn: false)
    #expect(chain.cursor == at(3))
    expect(commit(&chain, 5, 6), is: .read)
    expect(chain.handleSentPage(to: at(6), more: false), is: .nothing)
    chain.recordUnmatched(at(7), isOwn: false)
    #expect(chain.state == .live)
    #expect(chain.cursor == at(6))
  }

  @Test func whatIsPassedOverComesBeforeAnOwnSave() {
    var chain = live(at: 3)
    chain.recordUnmatched(at(4), isOwn: true)
    chain.enqueueSaved(answer(3, 4))
    expect(chain.nextSaved(), is: .send(answer(3, 4)))
    chain.recordUnmatched(at(5), isOwn: false)
    chain.recordUnmatched(at(6), isOwn: true)
    chain.enqueueSaved(answer(5, 6))
    expect(chain.nextSaved(), is: .read)
    expect(chain.handleSentPage(to: at(6), more: false), is: .nothing)
    expect(chain.nextSaved(), is: .send(answer(6, 6)))
  }

  @Test func otherSubscriptionsTellWhatTheFormerPassedOver() {
    var chain = live(at: 3)
    expect(chain.applyFilterChange(isClogged: false), is: .nothing)
    chain.recordUnmatched(at(4), isOwn: false)
    expect(chain.applyFilterChange(isClogged: false), is: .read)
    #expect(chain.awaitsPage(since: at(3)))
    chain.recordUnmatched(at(5), isOwn: false)
    expect(chain.applyFilterChange(isClogged: false), is: .nothing)
    expect(chain.handleSentPage(to: at(4), more: false), is: .read)
    expect(chain.handleSentPage(to: at(5), more: false), is: .nothing)
    expect(chain.applyFilterChange(isClogged: false), is: .nothing)
  }

  @Test func otherSubscriptionsHintWhoHasNoCursor() {
    var chain = CursorChain()
    expect(chain.begin(since: nil, newest: at(0)), is: .nothing)
    chain.recordUnmatched(at(1), isOwn: false)
    expect(chain.applyFilterChange(isClogged: false), is: .hint)
    #expect(chain.hintToken == at(1))
    chain.recordUnmatched(at(2), isOwn: false)
    expect(chain.applyFilterChange(isClogged: true), is: .nothing)
    expect(chain.handleUnclogged(), is: .hint)
    chain.recordUnmatched(at(3), isOwn: false)
    expect(commit(&chain, 3, 4), is: .hint)
    // The hint has named a newer token already.
    expect(chain.applyFilterChange(isClogged: false), is: .nothing)
  }

  @Test func whatIsPassedOverDuringAFetchIsReadWhereItIsAskedForThen() {
    var chain = live(at: 3)
    chain.beginFetch(ofWholeAccount: true)
    chain.recordUnmatched(at(4), isOwn: false)
    expect(chain.completeFetch(to: at(3), more: false), is: .nothing)
    #expect(chain.state == .live)
    expect(chain.applyFilterChange(isClogged: false), is: .read)
    expect(chain.handleSentPage(to: at(4), more: false), is: .nothing)
  }

  @Test func aSaveIsTheNextLink() {
    var chain = live(at: 3)
    expect(commit(&chain, 3, 4, isOwn: true), is: .nothing)
    chain.enqueueSaved(answer(3, 4))
    expect(chain.nextSaved(), is: .send(answer(3, 4)))
    expect(chain.nextSaved(), is: .wait)
    #expect(chain.cursor == at(4))
    expect(commit(&chain, 4, 5), is: .push)
  }

  @Test func whatCameBeforeASaveIsReadFirst() {
    var chain = live(at: 3)
    chain.enqueueSaved(answer(5, 6))
    expect(chain.nextSaved(), is: .read)
    expect(chain.nextSaved(), is: .wait)
    #expect(chain.hasWaitingSaves)
    expect(chain.handleSentPage(to: at(5), more: false), is: .nothing)
    expect(chain.nextSaved(), is: .send(answer(5, 6)))
  }

  @Test func aSaveThatWasReadAlreadyMovesNothing() {
    var chain = live(at: 3)
    expect(commit(&chain, 4, 5), is: .read)
    chain.enqueueSaved(answer(5, 6))
    expect(chain.nextSaved(), is: .wait)
    expect(chain.handleSentPage(to: at(7), more: false), is: .nothing)
    expect(chain.nextSaved(), is: .send(answer(7, 7)))
    #expect(chain.cursor == at(7))
  }

  @Test func aSaveOfSomeoneBehindIsToldAsItIs() {
    var chain = live(at: 3)
    expect(commit(&chain, 3, 4, isLarge: true), is: .hint)
    chain.enqueueSaved(answer(4, 5))
    expect(chain.nextSaved(), is: .send(answer(4, 5)))
    #expect(chain.cursor == at(3))
  }

  @Test func aSaveThatThePagesHavePassedIsToldBetweenThem() {
    var chain = live(at: 3)
    expect(commit(&chain, 4, 5), is: .read)
    chain.enqueueSaved(answer(5, 6))
    expect(chain.handleSentPage(to: at(5), more: true), is: .read)
    expect(chain.nextSaved(), is: .wait)
    expect(chain.handleSentPage(to: at(7), more: true), is: .read)
    #expect(chain.state == .catchingUp)
    expect(chain.nextSaved(), is: .send(answer(7, 7)))
    #expect(chain.awaitsPage(since: at(7)))
  }
}
