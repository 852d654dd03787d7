import LockstepModel
import LockstepStorage
import Testing

struct AccountHeadTests {
  private let head = AccountHead(generation: 1, newest: 9, forgotten: 4)

  private func refusal(_ token: ChangeToken, endedAt: ChangeTag? = nil) -> Refusal? {
    do {
      try head.check(token, endedAt: endedAt)
      return nil
    } catch {
      return error
    }
  }

  @Test func aTokenOfTheGenerationIsValidFromForgottenToNewest() {
    for (sequence, code) in [
      (3, RefusalCode.tokenExpired), (4, nil), (9, nil), (10, .storeRestored),
    ] as [(Int64, RefusalCode?)] {
      #expect(refusal(ChangeToken(generation: 1, sequence: sequence))?.code == code)
      // In the middle of a snapshot, the pinned tag counts.
      let pinned = ChangeToken(generation: 1, sequence: 0, pinned: sequence)
      #expect(refusal(pinned)?.code == code)
    }
    #expect(refusal(ChangeToken(generation: 1, sequence: 5, horizon: 9)) == nil)
    let ahead = refusal(ChangeToken(generation: 1, sequence: 5, horizon: 10))
    #expect(ahead?.code == .storeRestored)
    #expect(ahead?.restoredThrough == 0)
  }

  @Test func aTokenOfAnEarlierGenerationIsGoodUpToItsEnd() {
    let unknown = refusal(ChangeToken(generation: 2, sequence: 5))
    #expect(unknown?.code == .badChangeToken)
    // If the generation differs later on, the store was restored once more.
    #expect(unknown?.token == head.token)
    #expect(refusal(ChangeToken(generation: 2, sequence: 5), endedAt: 5) == nil)
    let lost: [ChangeToken] = [
      ChangeToken(generation: 2, sequence: 6), ChangeToken(generation: 2, sequence: 4, pinned: 6),
      ChangeToken(generation: 2, sequence: 4, horizon: 6),
      // Also expired; the restore has priority.
      ChangeToken(generation: 2, sequence: 3),
    ]
    for token in lost {
      #expect(refusal(token, endedAt: 5)?.code == .storeRestored)
      #expect(refusal(token, endedAt: 5)?.restoredThrough == 5)
    }
  }

  @Test func aRestoreLeadsToAGenerationAndTagsThatWereNeverGiven() {
    let account = AccountID(rawValue: 3)
    let next = head.restored(account, opening: 8, earlier: [])
    #expect(next.generation != 1)
    #expect(Limits.restoredTags.contains(next.newest - 9))
    #expect(next.forgotten == 4)
    let other = head.restored(AccountID(rawValue: 4), opening: 8, earlier: [])
    #expect(other.generation != next.generation)
    // A second restore of the same copy gets other tags.
    let again = head.restored(account, opening: 9, earlier: [])
    #expect(again.generation != next.generation)
    #expect(abs(again.newest - next.newest) > 1_000_000)
    let taken = [next.generation, next.generation &+ 1]
    let third = head.restored(account, opening: 8, earlier: taken)
    #expect(!taken.contains(third.generation))
  }

  @Test func tagsGrowEvenWhereAnOlderCopyIsPutBackThanTheLastTime() {
    let account = AccountID(rawValue: 3)
    let wall: Int64 = 1_795_262_400_000
    func restored(_ head: AccountHead, after milliseconds: Int64) -> AccountHead {
      let number = OpeningNumber.make(wall: wall + milliseconds, random: 5)
      return head.restored(account, opening: number, earlier: [])
    }
    let first = restored(head, after: 0)
    let second = restored(head, after: 100)
    let third = restored(first, after: 200)
    #expect(head.newest < first.newest)
    #expect(first.newest < second.newest && second.newest < third.newest)
    #expect(first.generation != second.generation)
  }

  /// The first save after a restore begins a run, milliseconds after the restore or much later.
  @Test(arguments: [0, 1, 13, 63, 64, 1_000] as [Int64])
  func aRunContinuesAfterTheRestoreWithoutLeavingTheClockBehind(later: Int64) {
    let account = AccountID(rawValue: 3)
    let wall: Int64 = 1_795_262_400_000
    func opening(_ milliseconds: Int64, _ random: UInt64) -> UInt64 {
      OpeningNumber.make(wall: wall + milliseconds, random: random)
    }
    for random in 0..<200 as Range<UInt64> {
      let restored = head.restored(account, opening: opening(0, random), earlier: [])
      let entered = restored.entering(opening(later, random &+ 1), account)
      #expect(entered.newest > restored.newest)
      #expect(entered.newest < (wall + later + 1_000) * Limits.tagsPerMillisecond)
      // The copy is put back once more: its tags exceed those that are lost.
      let again = head.restored(account, opening: opening(later + 10_000, random), earlier: [])
      #expect(again.newest > entered.newest)
    }
  }

  @Test func aClockThatIsSetBackLeavesChance() {
    var far = head
    far.newest = 1_795_262_400_000 * Limits.tagsPerMillisecond + 1_000_000
    let number = OpeningNumber.make(wall: 1_795_262_400_000, random: 5)
    let next = far.restored(AccountID(rawValue: 3), opening: number, earlier: [])
    #expect(Limits.restoredTags.contains(next.newest - far.newest))
  }

  @Test func tagsStayBelowTheirLimitHoweverOftenAStoreIsRestored() {
    var head = AccountHead(generation: 1, newest: Limits.sequenceLimit - 1_000)
    for opening in 0..<50 as Range<UInt64> {
      let next = head.restored(AccountID(rawValue: 3), opening: opening, earlier: [])
      #expect(next.newest >= head.newest && next.newest < Limits.sequenceLimit)
      head = next
    }
  }
}
