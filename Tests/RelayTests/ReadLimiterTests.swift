import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

struct ReadLimiterTests {
  private func page(of account: UInt64) -> StoreJob {
    .page(
      .changes(AccountID(rawValue: account), since: nil, zone: nil, limit: 1),
      as: PageForm(shape: .frame(request: nil)))
  }

  private let start = Instant(nanoseconds: 1_000_000_000)

  private func after(_ milliseconds: Int64) -> Instant {
    start.advanced(milliseconds: milliseconds)
  }

  private func id(_ number: UInt64) -> JobID { JobID(rawValue: number) }

  @Test func onlySoManyAreReadAtOnce() {
    var gate = ReadLimiter(limit: 2)
    var admitted: [Bool] = []
    for number: UInt64 in 1...4 { admitted.append(gate.admits(id(number), page(of: 1), at: start)) }
    #expect(admitted == [true, true, false, false])
    #expect(gate.next(at: start) == nil)
    gate.ended(id(2), nanoseconds: 0, at: start)
    #expect(gate.next(at: start)?.id == id(3))
    #expect(gate.next(at: start) == nil)
    gate.ended(id(1), nanoseconds: 0, at: start)
    gate.ended(id(3), nanoseconds: 0, at: start)
    #expect(gate.next(at: start)?.id == id(4))
    #expect(gate.next(at: start) == nil)
  }

  @Test func whoWaitsIsNotOvertakenByANewcomer() {
    var gate = ReadLimiter(limit: 1)
    #expect(gate.admits(id(1), page(of: 1), at: start) == true)
    #expect(gate.admits(id(2), page(of: 1), at: start) == false)
    gate.ended(id(1), nanoseconds: 0, at: start)
    #expect(gate.admits(id(3), page(of: 2), at: start) == false)
    #expect(gate.next(at: start)?.id == id(2))
  }

  @Test func accountsTakeTurns() {
    var gate = ReadLimiter(limit: 1)
    #expect(gate.admits(id(0), page(of: 9), at: start) == true)
    for number: UInt64 in 1...3 {
      #expect(gate.admits(id(number), page(of: 1), at: start) == false)
    }
    #expect(gate.admits(id(4), page(of: 2), at: start) == false)
    var order: [UInt64] = []
    gate.ended(id(0), nanoseconds: 0, at: start)
    while let next = gate.next(at: start) {
      order.append(next.id.rawValue)
      gate.ended(next.id, nanoseconds: 0, at: start)
    }
    #expect(order == [1, 4, 2, 3])
  }

  @Test func otherRequestsThatEndAreNoMatter() {
    var gate = ReadLimiter(limit: 1)
    #expect(gate.admits(id(1), page(of: 1), at: start) == true)
    gate.ended(id(7), nanoseconds: 0, at: start)
    #expect(gate.admits(id(2), page(of: 1), at: start) == false)
    #expect(gate.next(at: start) == nil)
  }

  // MARK: accounts that read much

  /// Ten accounts have large pages read without end; another one reads what has just changed.
  @Test func whoHasMuchReadNeverTakesAllPlaces() {
    var gate = ReadLimiter(limit: 8)
    let long: Int64 = 1_000_000_000
    for number: UInt64 in 1...9 {
      #expect(gate.admits(id(number), page(of: number), at: start) == true)
      gate.ended(id(number), nanoseconds: long, at: start)
    }
    #expect(gate.admits(id(20), page(of: 20), at: start) == true)
    gate.ended(id(20), nanoseconds: 0, at: start)
    for number: UInt64 in 1...9 {
      #expect(gate.admits(id(100 + number), page(of: number), at: start) == false)
    }
    // Exactly one of them is read.
    #expect(gate.nextAt == Instant(nanoseconds: 0))
    #expect(gate.next(at: start)?.id == id(101))
    #expect(gate.next(at: start) == nil)
    #expect(gate.nextAt == nil, "its end is waited for")
    for number: UInt64 in 30..<37 {
      #expect(
        gate.admits(id(number), page(of: number), at: start) == true, "others have room")
    }
    #expect(gate.admits(id(37), page(of: 37), at: start) == false)
    gate.ended(id(30), nanoseconds: 0, at: start)
    #expect(gate.next(at: start)?.id == id(37))
  }

  /// Returns a limiter in which account 1 has read much, and its pages 2 and 3 wait.
  private func gateThatPutsOff() -> ReadLimiter {
    var gate = ReadLimiter(limit: 2)
    #expect(gate.admits(id(1), page(of: 1), at: start) == true)
    gate.ended(id(1), nanoseconds: 1_000_000_000, at: start)
    for number: UInt64 in 2...3 {
      #expect(gate.admits(id(number), page(of: 1), at: start) == false)
    }
    return gate
  }

  @Test func whatIsPutOffRestsAfterALongPage() {
    var gate = gateThatPutsOff()
    #expect(gate.next(at: after(100))?.id == id(2))
    // Others read all the time.
    var done: [Int64] = []
    gate.ended(id(2), nanoseconds: 2_000_000, at: after(105))
    for (index, milliseconds) in stride(from: Int64(110), to: 1_000, by: 10).enumerated() {
      let number = id(1_000 + UInt64(index))
      #expect(gate.admits(number, page(of: 2), at: after(milliseconds)) == true)
      gate.ended(number, nanoseconds: 100_000, at: after(milliseconds))
      if gate.next(at: after(milliseconds)) != nil { done.append(milliseconds) }
    }
    // 32 times 2 ms, plus a hundred times the one beyond the first.
    #expect(done == [270])
  }

  /// No other account reads, but one makes small saves, as a person does.
  @Test func whatIsPutOffRestsWhileOthersSave() {
    var gate = gateThatPutsOff()
    #expect(gate.next(at: after(100))?.id == id(2))
    gate.ended(id(2), nanoseconds: 2_000_000, at: after(105))
    for milliseconds in stride(from: Int64(110), to: 260, by: 10) {
      gate.sawCommit(save(of: 2, records: 1), at: after(milliseconds))
      #expect(gate.next(at: after(milliseconds)) == nil)
    }
    // Neither its own saves count, nor large ones, which are deferred themselves.
    var other = gateThatPutsOff()
    #expect(other.next(at: after(100))?.id == id(2))
    other.ended(id(2), nanoseconds: 2_000_000, at: after(105))
    other.sawCommit(save(of: 1, records: 1), at: after(150))
    other.sawCommit(save(of: 2, records: 10), at: after(150))
    #expect(other.next(at: after(160))?.id == id(3))
  }

  private func save(of account: UInt64, records: Int) -> StoreJob {
    let mutations = (0..<records).map {
      Mutation(name: Name(trusted: "\($0)"), type: nil, fields: [], modifiedAt: 0, baseTag: nil)
    }
    let request = SaveRequest(
      id: BatchID(high: 1, low: 1), zone: Name(trusted: "z"), atomic: false, mutations: mutations)
    let commit = SaveCommit(
      account: AccountID(rawValue: account), device: DeviceID(rawValue: 1), request: request,
      digest: [])
    return .commit(.save(commit), by: CommitOrigin(node: 0, connection: nil))
  }

  @Test func whoReadsAsADeviceDoesIsNeverPutOff() {
    var gate = ReadLimiter(limit: 1)
    for number: UInt64 in 1...5_000 {
      let now = after(Int64(number) * 20)
      #expect(gate.admits(id(number), page(of: 1), at: now) == true)
      gate.ended(id(number), nanoseconds: 150_000, at: now)
    }
  }

  @Test func whoHurriesPutsNothingOff() {
    var gate = gateThatPutsOff()
    #expect(gate.next(at: start)?.id == id(2))
    gate.ended(id(2), nanoseconds: 1_000_000_000, at: start)
    #expect(gate.admits(id(4), page(of: 2), at: start) == true)
    gate.ended(id(4), nanoseconds: 0, at: start)
    #expect(gate.next(at: start) == nil, "others read, so it waits")
    gate.hurry()
    #expect(gate.next(at: start)?.id == id(3))
    #expect(gate.admits(id(5), page(of: 1), at: start) == true)
  }
}
