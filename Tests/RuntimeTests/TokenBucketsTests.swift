import LockstepModel
import LockstepRuntime
import Testing

/// Time is a number here: no test waits.
struct TokenBucketsTests {
  private let start = Instant(nanoseconds: 5_000_000_000)

  private func expect(
    _ wait: Int64?, is wanted: Int64?, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(wait == wanted, sourceLocation: sourceLocation)
  }

  @Test func aBurstIsFreeAndThenTheRateHolds() {
    var buckets = TokenBuckets<Int>(10, inMilliseconds: 1_000, burst: 3, keys: 10)
    for _ in 0..<3 { expect(buckets.takeToken(1, at: start), is: nil) }
    expect(buckets.takeToken(1, at: start), is: 100)
    expect(buckets.takeToken(1, at: start.advanced(milliseconds: 99)), is: 1)
    expect(buckets.takeToken(1, at: start.advanced(milliseconds: 100)), is: nil)
    expect(buckets.takeToken(1, at: start.advanced(milliseconds: 100)), is: 100)
    // A refused request costs nothing, and another key has another bucket.
    expect(buckets.takeToken(2, at: start), is: nil)
  }

  @Test func inTheLongRunNoMoreThanTheRatePasses() {
    var buckets = TokenBuckets<Int>(2_000, inMilliseconds: 1_000, burst: 4_000, keys: 10)
    var passed = 0
    for millisecond in 0..<10_000 {
      for _ in 0..<10
      where buckets.takeToken(1, at: start.advanced(milliseconds: Int64(millisecond))) == nil {
        passed += 1
      }
    }
    #expect(passed == 4_000 + 2 * 9_999)
  }

  @Test func whatIsDoneAlreadyIsOwed() {
    var buckets = TokenBuckets<Int>(10, inMilliseconds: 1_000, burst: 2, keys: 10)
    expect(buckets.spendTokens(1, at: start), is: nil)
    expect(buckets.spendTokens(1, at: start), is: 100)
    expect(buckets.spendTokens(1, at: start), is: 200)
    expect(buckets.takeToken(1, at: start.advanced(milliseconds: 199)), is: 1)
    expect(buckets.takeToken(1, at: start.advanced(milliseconds: 200)), is: nil)
  }

  @Test func whatIsGivenBackCanBeTakenAgain() {
    var buckets = TokenBuckets<Int>(1, inMilliseconds: 1_000, burst: 1, keys: 10)
    for _ in 0..<5 {
      expect(buckets.takeToken(1, at: start), is: nil)
      buckets.returnToken(1)
    }
    // A bucket never holds more than its burst.
    for _ in 0..<5 { buckets.returnToken(1) }
    expect(buckets.takeToken(1, at: start), is: nil)
    expect(buckets.takeToken(1, at: start), is: 1_000)
    buckets.returnToken(7)
    #expect(buckets.count == 1)
  }

  @Test func aPartOfAMillisecondCountsAsAWholeOne() {
    var buckets = TokenBuckets<Int>(3, inMilliseconds: 1_000, burst: 1, keys: 10)
    expect(buckets.takeToken(1, at: start), is: nil)
    expect(buckets.takeToken(1, at: start), is: 334)
  }

  @Test func onlySoManyAreRemembered() {
    var buckets = TokenBuckets<Int>(1, inMilliseconds: 1_000, burst: 1, keys: 100)
    for key in 0..<10_000 {
      expect(buckets.takeToken(key, at: start), is: nil)
      // A key that is used all the time is never forgotten, however many others come.
      if key > 0 {
        let wait = buckets.spendTokens(0, at: start)
        #expect(wait != nil)
      }
      #expect(buckets.count <= 100)
    }
  }

  /// A bucket that is full again says the same as one that is not remembered.
  @Test func idleKeysAreForgotten() {
    var buckets = TokenBuckets<Int>(10, inMilliseconds: 1_000, burst: 3, keys: 100_000)
    for key in 0..<20_000 {
      let now = start.advanced(milliseconds: Int64(key))
      expect(buckets.takeToken(key, at: now), is: nil)
      // A bucket takes 100 ms until it is full again.
      #expect(buckets.count < 2_000)
    }
  }

  /// Every answer is that of buckets that forget nothing.
  @Test func forgettingChangesNoAnswer() {
    var random = SeededRandom(seed: 3)
    var buckets = TokenBuckets<Int>(10, inMilliseconds: 1_000, burst: 3, keys: 100_000)
    var all = (0..<3_000).map { _ in
      TokenBuckets<Int>(10, inMilliseconds: 1_000, burst: 3, keys: 2)
    }
    var now = start
    for _ in 0..<50_000 {
      now = now.advanced(milliseconds: Int64.random(in: 0...2, using: &random))
      let key = Int.random(in: 0..<3_000, using: &random)
      if Int.random(in: 0..<4, using: &random) == 0 {
        let wait = buckets.spendTokens(key, 2, at: now)
        let wanted = all[key].spendTokens(key, 2, at: now)
        #expect(wait == wanted)
      } else {
        let wait = buckets.takeToken(key, at: now)
        let wanted = all[key].takeToken(key, at: now)
        #expect(wait == wanted)
      }
    }
  }

  @Test func manyTokensAreSpentAtOnceAndMayBeMoreThanThereAre() {
    var buckets = TokenBuckets<Int>(10, inMilliseconds: 1_000, burst: 3, keys: 10)
    #expect(buckets.hasToken(1, at: start))
    expect(buckets.spendTokens(1, 2, at: start), is: nil)
    #expect(buckets.hasToken(1, at: start))
    // Four more than there were, and one to have.
    expect(buckets.spendTokens(1, 5, at: start), is: 500)
    #expect(!buckets.hasToken(1, at: start.advanced(milliseconds: 499)))
    #expect(buckets.hasToken(1, at: start.advanced(milliseconds: 500)))
    #expect(buckets.hasToken(2, at: start), "others have their own")
    let wait = buckets.spendTokens(2, .max, at: start)
    #expect(wait != nil, "whatever it is")
  }
}
