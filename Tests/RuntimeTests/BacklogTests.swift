import LockstepModel
import LockstepRuntime
import Testing

struct BacklogTests {
  /// Work item with its owner.
  private struct Chunk: Hashable {
    var owner: UInt64
    var line: UInt64 = 0
    var number = 0
    var cost = 1

    var weight: WorkWeight { WorkWeight(owner: owner, line: line, cost: cost) }
  }

  private let portions = WorkPortions(cost: 10, lightCost: 2)

  private func backlog(_ chunks: [Chunk]) -> Backlog<Chunk> {
    var backlog = Backlog<Chunk>(portions)
    for chunk in chunks { backlog.add(chunk, chunk.weight) }
    return backlog
  }

  /// Returns items of one line, numbered.
  private func chunks(_ count: Int, of owner: UInt64, line: UInt64 = 0, cost: Int = 1) -> [Chunk] {
    (0..<count).map { Chunk(owner: owner, line: line, number: $0, cost: cost) }
  }

  @Test func aLoneChunkIsAPortionHoweverDearItIs() {
    for cost in [1, 10, 1_000] {
      var backlog = backlog(chunks(1, of: 1, cost: cost))
      #expect(backlog.nextPortion().count == 1)
      #expect(backlog.isEmpty)
      #expect(backlog.nextPortion().isEmpty)
    }
  }

  @Test func whatFitsIsOnePortionInItsOrder() {
    let all = chunks(3, of: 2) + chunks(1, of: 1, cost: 5) + chunks(2, of: 3)
    var backlog = Backlog<Chunk>(portions)
    #expect(backlog.nextPortion(adding: all, \.weight) == all)
    #expect(backlog.isEmpty)
    // One more than fits: the light ones go first.
    let more = chunks(1, of: 1, cost: 8) + chunks(3, of: 2)
    #expect(backlog.nextPortion(adding: more, \.weight) == chunks(3, of: 2))
    #expect(backlog.nextPortion(adding: [], \.weight) == chunks(1, of: 1, cost: 8))
  }

  @Test func aPortionCostsNoMoreThanItsCeiling() {
    var backlog = backlog(chunks(20, of: 1, cost: 3) + chunks(20, of: 2, cost: 4))
    while !backlog.isEmpty {
      let portion = backlog.nextPortion()
      #expect(portion.reduce(0) { $0 + $1.cost } <= 10)
      #expect(portion.count > 1 || backlog.count < 2, "and is as full as it may be")
    }
  }

  /// The purpose of the backlog: one device uploads while another presses a button.
  @Test func aLightChunkWaitsForOneHeavyPortionAtMost() {
    var backlog = backlog(chunks(64, of: 1, cost: 8))
    for number in 0..<20 {
      let press = Chunk(owner: 2, number: number)
      backlog.add(press, press.weight)
      let next = [backlog.nextPortion(), backlog.nextPortion()]
      #expect(next.contains([press]), "\(number)")
    }
  }

  @Test func lightWorkWithoutEndDoesNotStopTheHeavy() {
    var backlog = backlog(chunks(5, of: 1, cost: 8))
    var heavy = 0
    for number in 0..<10 {
      for owner: UInt64 in 2..<40 {
        let press = Chunk(owner: owner, number: number)
        backlog.add(press, press.weight)
      }
      heavy += backlog.nextPortion().count { $0.owner == 1 }
    }
    #expect(heavy == 5, "every other portion is theirs")
  }

  @Test func ownersTakeTurns() {
    var backlog = backlog(chunks(100, of: 1, cost: 8))
    for chunk in chunks(3, of: 2, cost: 8) { backlog.add(chunk, chunk.weight) }
    let first = (0..<6).flatMap { _ in backlog.nextPortion().map(\.owner) }
    #expect(first == [1, 2, 1, 2, 1, 2])
  }

  @Test func soDoTheLinesOfAnOwner() {
    var backlog = backlog(
      chunks(10, of: 1, line: 1, cost: 8) + chunks(2, of: 1, line: 2, cost: 8)
        + chunks(3, of: 2, cost: 8))
    let first = (0..<6).flatMap { _ in backlog.nextPortion().map { "\($0.owner).\($0.line)" } }
    #expect(first == ["1.1", "2.0", "1.2", "2.0", "1.1", "2.0"])
  }

  @Test func aLightChunkDoesNotOvertakeItsOwnLine() {
    var backlog = backlog([
      Chunk(owner: 1, number: 0, cost: 8), Chunk(owner: 1, number: 1),
      Chunk(owner: 1, number: 2, cost: 8), Chunk(owner: 1, number: 3),
    ])
    var order: [Int] = []
    while !backlog.isEmpty { order += backlog.nextPortion().map(\.number) }
    #expect(order == [0, 1, 2, 3])
  }

  @Test(arguments: 0..<40)
  func everyChunkIsDoneOnceAndEveryLineInItsOrder(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var backlog = Backlog<Chunk>(portions)
    var given: [WorkWeight: Int] = [:]
    var done: [Chunk] = []
    var count = 0
    for _ in 0..<200 {
      var newcomers: [Chunk] = []
      for _ in 0..<Int.random(in: 0...6, using: &random) {
        var chunk = Chunk(
          owner: UInt64.random(in: 0...4, using: &random),
          line: UInt64.random(in: 0...2, using: &random))
        let line = chunk.weight
        chunk.number = given[line, default: 0]
        given[line] = chunk.number + 1
        chunk.cost = Int.random(in: 1...14, using: &random)
        newcomers.append(chunk)
      }
      count += newcomers.count
      done += backlog.nextPortion(adding: newcomers, \.weight)
      #expect(backlog.count + done.count == count)
    }
    while !backlog.isEmpty { done += backlog.nextPortion() }
    #expect(done.count == count)
    var next: [WorkWeight: Int] = [:]
    for chunk in done {
      let line = WorkWeight(owner: chunk.owner, line: chunk.line)
      #expect(chunk.number == next[line, default: 0])
      next[line] = chunk.number + 1
    }
    #expect(next == given)
  }

  // MARK: pace

  /// An owner may use 10 ms of the worker's time at once, and one in each second.
  private let paced = WorkPortions(
    cost: 10, lightCost: 2,
    pace: WorkPace(
      freeCost: 1, burstMicroseconds: 10_000, microsecondsPerSecond: 1_000, pauseFactor: 2,
      shortMicroseconds: 1_000, longPauseFactor: 120, quietMilliseconds: 50,
      patienceMilliseconds: 10_000, owners: 100))

  /// Does the next portion at `milliseconds`; it takes `takes` milliseconds.
  private func portion(
    _ backlog: inout Backlog<Chunk>, at milliseconds: Int64, takes: Int64 = 0,
    adding newcomers: [Chunk] = []
  ) -> [Chunk] {
    let start = Instant(nanoseconds: milliseconds * 1_000_000)
    let portion = backlog.nextPortion(adding: newcomers, at: start, \.weight)
    if !portion.isEmpty {
      backlog.chargePortion(from: start, to: start.advanced(milliseconds: takes))
    }
    return portion
  }

  /// The same, with 5 ms for heavy work and one for a press.
  private func portion(
    _ backlog: inout Backlog<Chunk>, afterwards milliseconds: Int64, adding newcomers: [Chunk] = []
  ) -> [Chunk] {
    let start = Instant(nanoseconds: milliseconds * 1_000_000)
    let portion = backlog.nextPortion(adding: newcomers, at: start, \.weight)
    guard !portion.isEmpty else { return [] }
    let takes: Int64 = portion.contains { $0.cost > 2 } ? 5 : 1
    backlog.chargePortion(from: start, to: start.advanced(milliseconds: takes))
    return portion
  }

  /// One account writes all the time, another presses a button now and then.
  @Test func whoTakesMoreThanHisShareIsPutOffWhileOthersWork() {
    var backlog = Backlog<Chunk>(paced)
    let flood = chunks(100, of: 1, cost: 8)
    #expect(portion(&backlog, at: 0, takes: 20, adding: Array(flood.prefix(1))) == [flood[0]])
    // It has used 20 ms, and others work: the first deferred item is done at once. The next one
    // waits twice the time that it took, and 120 times the time beyond one millisecond and the one
    // that a press takes.
    let press = Chunk(owner: 2)
    #expect(portion(&backlog, at: 20, takes: 1, adding: [press]) == [press])
    #expect(portion(&backlog, at: 21, takes: 5, adding: [flood[1]]) == [flood[1]])
    var done: [Int64] = []
    for at in stride(from: Int64(30), to: 1_200, by: 10) {
      let newcomers = [press] + (at == 30 ? [flood[2], flood[3]] : [])
      // A deferred item that is due goes before one press.
      let two =
        portion(&backlog, afterwards: at, adding: newcomers)
        + portion(&backlog, afterwards: at + 5)
      #expect(two.contains(press))
      if two.contains(where: { $0.owner == 1 }) { done.append(at) }
    }
    // After 26 ms plus 10 and 360, and after 405 ms plus the same.
    #expect(done == [400, 770])
  }

  @Test func shortPortionsThatArePutOffRestShortly() {
    var backlog = Backlog<Chunk>(paced)
    let flood = chunks(100, of: 1, cost: 8)
    _ = portion(&backlog, at: 0, takes: 20, adding: [flood[0]])
    let press = Chunk(owner: 2)
    _ = portion(&backlog, at: 20, takes: 1, adding: [press] + flood.dropFirst())
    var done = 0
    for at in stride(from: Int64(30), to: 330, by: 3) {
      let two =
        portion(&backlog, at: at, takes: 1, adding: [press])
        + portion(&backlog, at: at + 1, takes: 1)
      #expect(two.contains(press))
      done += two.count { $0.owner == 1 }
    }
    #expect((98...100).contains(done), "a third of the time")
  }

  @Test func restsHaveABound() {
    var portions = paced
    portions.pace?.patienceMilliseconds = 60_000
    var backlog = Backlog<Chunk>(portions)
    let flood = chunks(3, of: 1, cost: 8)
    let start = Instant(nanoseconds: 0)
    let later = Instant(nanoseconds: .max / 4)
    _ = backlog.nextPortion(adding: [flood[0]], at: start, \.weight)
    backlog.chargePortion(from: start, to: later)
    for chunk in flood.dropFirst() { backlog.add(chunk, chunk.weight) }
    #expect(backlog.nextPortion(at: later) == [flood[1]])
    backlog.chargePortion(from: start, to: later)
    // Others work, so that the pause counts.
    let press = Chunk(owner: 2)
    let soon = later.advanced(milliseconds: 29_999)
    #expect(backlog.nextPortion(adding: [press], at: soon, \.weight) == [press])
    backlog.chargePortion(from: soon, to: soon)
    #expect(backlog.nextAt == later.advanced(milliseconds: 30_000))
  }

  /// Two deferred items are done at once, and the short one ends last.
  @Test func aShortChunkDoesNotEndTheRestAfterALongOne() {
    var backlog = Backlog<Chunk>(paced)
    backlog.chargeWork(1, wasDeferred: false, nanoseconds: 20_000_000, at: Instant(nanoseconds: 0))
    let end = Instant(nanoseconds: 10_000_000)
    backlog.chargeWork(1, wasDeferred: true, nanoseconds: 5_000_000, at: end)
    backlog.chargeWork(1, wasDeferred: true, nanoseconds: 1_000, at: end)
    let chunk = Chunk(owner: 1, cost: 8)
    backlog.add(chunk, chunk.weight, at: end)
    for at in stride(from: Int64(20), to: 500, by: 10) {
      let now = Instant(nanoseconds: at * 1_000_000)
      backlog.chargeWork(2, wasDeferred: false, nanoseconds: 1_000, at: now)
      #expect(backlog.nextPortion(at: now) == [])
    }
    // 2 times 5 ms, and 120 times the four beyond the first.
    #expect(backlog.nextPortion(at: end.advanced(milliseconds: 490)) == [chunk])
  }

  /// Portions of deferred work are as short as possible.
  @Test func aPortionThatIsPutOffIsLightOrOneChunk() {
    var backlog = Backlog<Chunk>(paced)
    _ = portion(&backlog, at: 0, takes: 20, adding: chunks(1, of: 1, cost: 8))
    _ = portion(&backlog, at: 20, takes: 1, adding: [Chunk(owner: 2)])
    let small = (0..<3).map { Chunk(owner: 1, line: $0 + 7, cost: 2) }
    for chunk in small { backlog.add(chunk, chunk.weight, at: Instant(nanoseconds: 21_000_000)) }
    for (index, chunk) in small.enumerated() {
      #expect(portion(&backlog, at: 1_000 + Int64(index) * 100, takes: 1) == [chunk])
    }
  }

  @Test func workElsewhereCountsAsWorkOfOthers() {
    var backlog = Backlog<Chunk>(paced)
    let flood = chunks(3, of: 1, cost: 8)
    _ = portion(&backlog, at: 0, takes: 20, adding: [flood[0]])
    // The first deferred item is done at once; the next one waits while others work.
    #expect(portion(&backlog, at: 20, takes: 50, adding: [flood[1]]) == [flood[1]])
    #expect(portion(&backlog, at: 70, adding: [flood[2]]) == [flood[2]], "nobody works")
    backlog.chargePortion(
      from: Instant(nanoseconds: 70_000_000), to: Instant(nanoseconds: 120_000_000))
    backlog.recordOtherWork(of: 2, at: Instant(nanoseconds: 120_000_000))
    let late = Chunk(owner: 1, number: 9, cost: 8)
    #expect(portion(&backlog, at: 130, adding: [late]).isEmpty)
    #expect(backlog.nextAt == Instant(nanoseconds: 170_000_000))
    backlog.recordOtherWork(of: 1, at: Instant(nanoseconds: 150_000_000))
    #expect(backlog.nextAt == Instant(nanoseconds: 170_000_000), "its own is not others'")
    backlog.recordOtherWork(of: 2, at: Instant(nanoseconds: 160_000_000))
    #expect(portion(&backlog, at: 170).isEmpty)
    #expect(portion(&backlog, at: 210) == [late])
  }

  /// The disk hung for an hour, or the machine slept, while a batch was saved.
  @Test func aPortionThatHungPutsNobodyOffForLong() {
    var backlog = Backlog<Chunk>(paced)
    let batch = Chunk(owner: 1, cost: 8)
    #expect(portion(&backlog, at: 0, takes: 3_600_000, adding: [batch]) == [batch])
    let soon = Instant(nanoseconds: 3_611_000_000_000)
    #expect(backlog.isDeferred(batch.weight, at: Instant(nanoseconds: 3_600_000_000_000)) == true)
    #expect(backlog.isDeferred(batch.weight, at: soon) == false)
    backlog.chargeWork(7, wasDeferred: false, nanoseconds: .max, at: soon)
    #expect(backlog.isDeferred(Chunk(owner: 7, cost: 8).weight, at: soon) == true)
    #expect(
      backlog.isDeferred(Chunk(owner: 7, cost: 8).weight, at: soon.advanced(milliseconds: 11_000))
        == false)
  }

  /// With a slow disk all work is slow: no owner is deferred for that.
  @Test func whatAnyWorkTakesIsNobodys() {
    var backlog = Backlog<Chunk>(paced)
    let (press, batch) = (Chunk(owner: 2), Chunk(owner: 1, cost: 8))
    for number: Int64 in 0..<100 {
      #expect(portion(&backlog, at: number * 100, takes: 30, adding: [press]) == [press])
      #expect(portion(&backlog, at: number * 100 + 50, takes: 30, adding: [batch]) == [batch])
    }
  }

  @Test func whereNobodyElseWorksNothingIsPutOff() {
    var backlog = Backlog<Chunk>(paced)
    let flood = chunks(3, of: 1, cost: 8)
    #expect(portion(&backlog, at: 0, takes: 20, adding: flood) == [flood[0]])
    #expect(portion(&backlog, at: 20, takes: 20) == [flood[1]], "it stood in line before")
    #expect(portion(&backlog, at: 40, takes: 20, adding: []) == [flood[2]])
    let late = Chunk(owner: 1, number: 9, cost: 8)
    #expect(portion(&backlog, at: 60, adding: [late]).isEmpty, "others may still come")
    #expect(backlog.isAtRest)
    #expect(backlog.nextAt == Instant(nanoseconds: 90_000_000))
    #expect(portion(&backlog, at: 90) == [late])
    #expect(backlog.isEmpty)
  }

  @Test func freeWorkAndNobodysWorkIsNeverPutOff() {
    var backlog = Backlog<Chunk>(paced)
    #expect(portion(&backlog, at: 0, takes: 500, adding: chunks(1, of: 1, cost: 8)).count == 1)
    let press = Chunk(owner: 1, line: 7)
    #expect(portion(&backlog, at: 501, takes: 500, adding: [press]) == [press])
    #expect(portion(&backlog, at: 1_001, takes: 500, adding: [press]) == [press])
    let chore = Chunk(owner: 0, cost: 8)
    for at: Int64 in [1_501, 2_001] {
      #expect(portion(&backlog, at: at, takes: 500, adding: [chore]) == [chore])
    }
  }

  @Test func anOwnerWhoRestsIsTakenInTurnAgain() {
    var backlog = Backlog<Chunk>(paced)
    let heavy = Chunk(owner: 1, cost: 8)
    #expect(portion(&backlog, at: 0, takes: 20, adding: [heavy]) == [heavy])
    // 20 ms minus 10 a second: after ten seconds the first items are paid.
    let press = Chunk(owner: 2)
    #expect(portion(&backlog, at: 11_000, adding: [press, heavy]) == [press, heavy])
  }

  @Test func manyWhoArePutOffTakeNoMoreThanOne() {
    func count(owners: UInt64) -> Int {
      var backlog = Backlog<Chunk>(paced)
      for owner in 1...owners {
        _ = portion(&backlog, at: 0, takes: 20, adding: chunks(1, of: owner, cost: 8))
      }
      for owner in 1...owners {
        for chunk in chunks(100, of: owner, cost: 8) { backlog.add(chunk, chunk.weight) }
      }
      var done = 0
      for at in stride(from: Int64(20), to: 20_000, by: 10) {
        let press = Chunk(owner: 99)
        let two =
          portion(&backlog, afterwards: at, adding: [press])
          + portion(&backlog, afterwards: at + 5)
        #expect(two.contains(press))
        done += two.count { $0.owner != 99 }
      }
      return done
    }
    let (one, ten) = (count(owners: 1), count(owners: 10))
    // Each owner regains a little of its share in the meantime.
    #expect(ten < 2 * one)
    #expect(ten >= 10, "and each goes on")
  }

  /// The client waits for an answer, and would ask again.
  @Test func nobodyWaitsLongerForItsTurnThanItsPatience() {
    var portions = paced
    portions.pace?.patienceMilliseconds = 200
    var backlog = Backlog<Chunk>(portions)
    for owner: UInt64 in 1...2 {
      _ = portion(&backlog, at: 0, takes: 20, adding: chunks(1, of: owner, cost: 8))
      for chunk in chunks(20, of: owner, cost: 8) { backlog.add(chunk, chunk.weight) }
    }
    var done: [UInt64: [Int64]] = [:]
    for at in stride(from: Int64(20), to: 1_000, by: 10) {
      let two =
        portion(&backlog, afterwards: at, adding: [Chunk(owner: 99)])
        + portion(&backlog, afterwards: at + 5)
      for chunk in two where chunk.owner != 99 { done[chunk.owner, default: []].append(at) }
    }
    for owner: UInt64 in 1...2 {
      let times = done[owner] ?? []
      #expect(times.count >= 4)
      #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 <= 220 })
    }
  }

  @Test func whoHurriesPutsNothingOff() {
    var backlog = Backlog<Chunk>(paced)
    let flood = chunks(3, of: 1, cost: 8)
    _ = portion(&backlog, at: 0, takes: 100, adding: [flood[0]])
    _ = portion(&backlog, at: 100, takes: 1, adding: [flood[1]])
    #expect(portion(&backlog, at: 101, adding: [flood[2]]).isEmpty)
    backlog.stopDeferring()
    #expect(portion(&backlog, at: 101) == [flood[2]])
  }
}
