import LockstepModel
import LockstepRuntime
import LockstepStorage
import Testing

@testable import LockstepRelay

struct ReadLimiterTests {
  private func page(of account: UInt64) -> StoreReadJob {
    .page(
      .changes(AccountID(rawValue: account), since: nil, zones: .all, limit: 1),
      as: PageForm(shape: .frame(request: nil)))
  }

  private let start = Instant(nanoseconds: 1_000_000_000)

  private func after(_ milliseconds: Int64) -> Instant {
    start.advanced(milliseconds: milliseconds)
  }

  private func id(_ number: UInt64) -> JobID { JobID(rawValue: number) }

  @Test func onlySoManyAreReadAtOnce() {
    var limiter = ReadLimiter(limit: 2)
    var admitted: [Bool] = []
    for number: UInt64 in 1...4 {
      admitted.append(limiter.admit(id(number), page(of: 1), at: start))
    }
    #expect(admitted == [true, true, false, false])
    #expect(limiter.next(at: start) == nil)
    limiter.finishRead(id(2), nanoseconds: 0, at: start)
    #expect(limiter.next(at: start)?.id == id(3))
    #expect(limiter.next(at: start) == nil)
    limiter.finishRead(id(1), nanoseconds: 0, at: start)
    limiter.finishRead(id(3), nanoseconds: 0, at: start)
    #expect(limiter.next(at: start)?.id == id(4))
    #expect(limiter.next(at: start) == nil)
  }

  @Test func whoWaitsIsNotOvertakenByANewcomer() {
    var limiter = ReadLimiter(limit: 1)
    #expect(limiter.admit(id(1), page(of: 1), at: start) == true)
    #expect(limiter.admit(id(2), page(of: 1), at: start) == false)
    limiter.finishRead(id(1), nanoseconds: 0, at: start)
    #expect(limiter.admit(id(3), page(of: 2), at: start) == false)
    #expect(limiter.next(at: start)?.id == id(2))
  }

  @Test func accountsTakeTurns() {
    var limiter = ReadLimiter(limit: 1)
    #expect(limiter.admit(id(0), page(of: 9), at: start) == true)
    for number: UInt64 in 1...3 {
      #expect(limiter.admit(id(number), page(of: 1), at: start) == false)
    }
    #expect(limiter.admit(id(4), page(of: 2), at: start) == false)
    var order: [UInt64] = []
    limiter.finishRead(id(0), nanoseconds: 0, at: start)
    while let next = limiter.next(at: start) {
      order.append(next.id.rawValue)
      limiter.finishRead(next.id, nanoseconds: 0, at: start)
    }
    #expect(order == [1, 4, 2, 3])
  }

  @Test func otherRequestsThatEndAreNoMatter() {
    var limiter = ReadLimiter(limit: 1)
    #expect(limiter.admit(id(1), page(of: 1), at: start) == true)
    limiter.finishRead(id(7), nanoseconds: 0, at: start)
    #expect(limiter.admit(id(2), page(of: 1), at: start) == false)
    #expect(limiter.next(at: start) == nil)
  }

  // MARK: accounts that read much

  /// Ten accounts have large pages read without end; another one reads what has just changed.
  @Test func whoHasMuchReadNeverTakesAllPlaces() {
    var limiter = ReadLimiter(limit: 8)
    let long: Int64 = 1_000_000_000
    for number: UInt64 in 1...9 {
      #expect(limiter.admit(id(number), page(of: number), at: start) == true)
      limiter.finishRead(id(number), nanoseconds: long, at: start)
    }
    #expect(limiter.admit(id(20), page(of: 20), at: start) == true)
    limiter.finishRead(id(20), nanoseconds: 0, at: start)
    for number: UInt64 in 1...9 {
      #expect(limiter.admit(id(100 + number), page(of: number), at: start) == false)
    }
    // Exactly one of them is read.
    #expect(limiter.nextAt == Instant(nanoseconds: 0))
    #expect(limiter.next(at: start)?.id == id(101))
    #expect(limiter.next(at: start) == nil)
    #expect(limiter.nextAt == nil, "its end is waited for")
    for number: UInt64 in 30..<37 {
      #expect(
        limiter.admit(id(number), page(of: number), at: start) == true, "others have room")
    }
    #expect(limiter.admit(id(37), page(of: 37), at: start) == false)
    limiter.finishRead(id(30), nanoseconds: 0, at: start)
    #expect(limiter.next(at: start)?.id == id(37))
  }

  /// Returns a limiter in which account 1 has read much, and its pages 2 and 3 wait.
  private func gateThatPutsOff() -> ReadLimiter {
    var limiter = ReadLimiter(limit: 2)
    #expect(limiter.admit(id(1), page(of: 1), at: start) == true)
    limiter.finishRead(id(1), nanoseconds: 1_000_000_000, at: start)
    for number: UInt64 in 2...3 {
      #expect(limiter.admit(id(number), page(of: 1), at: start) == false)
    }
    return limiter
  }

  @Test func whatIsPutOffRestsAfterALongPage() {
    var limiter = gateThatPutsOff()
    #expect(limiter.next(at: after(100))?.id == id(2))
    // Others read all the time.
    var done: [Int64] = []
    limiter.finishRead(id(2), nanoseconds: 2_000_000, at: after(105))
    for (index, milliseconds) in stride(from: Int64(110), to: 1_000, by: 10).enumerated() {
      let number = id(1_000 + UInt64(index))
      #expect(limiter.admit(number, page(of: 2), at: after(milliseconds)) == true)
      limiter.finishRead(number, nanoseconds: 100_000, at: after(milliseconds))
      if limiter.next(at: after(milliseconds)) != nil { done.append(milliseconds) }
    }
    // 32 times 2 ms, plus a hundred times the one beyond the first.
    #expect(done == [270])
  }

  /// No other account reads, but one makes small saves, as a person does.
  @Test func whatIsPutOffRestsWhileOthersSave() {
    var limiter = gateThatPutsOff()
    #expect(limiter.next(at: after(100))?.id == id(2))
    limiter.finishRead(id(2), nanoseconds: 2_000_000, at: after(105))
    for milliseconds in stride(from: Int64(110), to: 260, by: 10) {
      limiter.recordCommit(save(of: 2, records: 1), at: after(milliseconds))
      #expect(limiter.next(at: after(milliseconds)) == nil)
    }
    // Neither its own saves count, nor large ones, which are deferred themselves.
    var other = gateThatPutsOff()
    #expect(other.next(at: after(100))?.id == id(2))
    other.finishRead(id(2), nanoseconds: 2_000_000, at: after(105))
    other.recordCommit(save(of: 1, records: 1), at: after(150))
    other.recordCommit(save(of: 2, records: 10), at: after(150))
    #expect(other.next(at: after(160))?.id == id(3))
  }

  private func save(of account: UInt64, records: Int) -> StoreCommitJob {
    let mutations = (0..<records).map {
      Mutation(name: Name(trusted: "\($0)"), type: nil, fields: [], modifiedAt: 0, baseTag: nil)
    }
    let request = SaveRequest(
      id: BatchID(high: 1, low: 1), zone: Name(trusted: "z"), atomic: false, mutations: mutations)
    let commit = SaveCommit(
      account: AccountID(rawValue: account), device: DeviceID(rawValue: 1), request: request,
      digest: [])
    return StoreCommitJob(.save(commit), by: CommitOrigin(node: 0, connection: nil))
  }

  @Test func whoReadsAsADeviceDoesIsNeverPutOff() {
    var limiter = ReadLimiter(limit: 1)
    for number: UInt64 in 1...5_000 {
      let now = after(Int64(number) * 20)
      #expect(limiter.admit(id(number), page(of: 1), at: now) == true)
      limiter.finishRead(id(number), nanoseconds: 150_000, at: now)
    }
  }

  @Test func whoHurriesPutsNothingOff() {
    var limiter = gateThatPutsOff()
    #expect(limiter.next(at: start)?.id == id(2))
    limiter.finishRead(id(2), nanoseconds: 1_000_000_000, at: start)
    #expect(limiter.admit(id(4), page(of: 2), at: start) == true)
    limiter.finishRead(id(4), nanoseconds: 0, at: start)
    #expect(limiter.next(at: start) == nil, "others read, so it waits")
    limiter.endDeferral()
    #expect(limiter.next(at: start)?.id == id(3))
    #expect(limiter.admit(id(5), page(of: 1), at: start) == true)
  }
}
