import Glibc
import LockstepModel
import Testing

@testable import LockstepEventLoop

struct SystemTests {
  @Test func clockAdvancesAndTheWallClockIsInMilliseconds() {
    let first = SystemClock.moment()
    let second = SystemClock.moment()
    #expect(first.instant <= second.instant)
    // Between the years 2020 and 2100.
    #expect((1_577_836_800_000...4_102_444_800_000).contains(first.wall))
  }

  @Test func wallClockHasAnOffsetAndTheMonotonicClockHasNone() {
    defer { SystemClock.setWall(aheadMilliseconds: 0) }
    let right = SystemClock.moment()
    SystemClock.setWall(aheadMilliseconds: 86_400_000)
    let ahead = SystemClock.moment()
    #expect(ahead.wall >= right.wall + 86_400_000)
    // The test takes less than an hour.
    #expect(ahead.wall < right.wall + 90_000_000)
    #expect(ahead.instant.nanoseconds - right.instant.nanoseconds < 3_600_000_000_000)
  }

  @Test func processorTimeOfAProcessIsReported() throws {
    #expect(SystemClock.processorNanoseconds() > 0)
    #expect(try #require(SystemClock.processorNanoseconds(ofProcess: getpid())) > 0)
    for number in [0, -1, Int32.max] {
      #expect(SystemClock.processorNanoseconds(ofProcess: number) == nil)
    }
  }

  @Test func secretsHaveTheRequestedLengthAndDiffer() {
    let source = Entropy.secrets
    #expect(source.bytes(0).isEmpty)
    #expect(source.bytes(1_000).count == 1_000)
    #expect(source.bytes(16) != source.bytes(16))
    var first = Entropy.seededRandom()
    var second = Entropy.seededRandom()
    #expect(first.next() != second.next())
  }

  @Test func counterCountsOrReportsTheReason() throws {
    do throws(SystemFault) {
      let counter = try InstructionCounter()
      let before = counter.read()
      var random = SeededRandom(seed: 1)
      var sum: UInt64 = 0
      for _ in 0..<1_000 { sum ^= random.next() }
      #expect(counter.read() - before > 1_000, "\(sum)")
    } catch {
      #expect(error.call == "perf_event_open")
    }
  }

  @Test func seamIsMeasuredOrTheReasonIsReported() throws {
    switch try SeamCost.measure(changesATurn: 2, turns: 50) {
    case .instructionsPerDelivery(let figure): #expect(figure > 10)
    case .notSupported(let fault): #expect(fault.call == "perf_event_open")
    }
  }
}
