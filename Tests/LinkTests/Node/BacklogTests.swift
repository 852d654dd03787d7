import Changes
import Link
import Testing

struct BacklogTests {
  /// A piece of work that says whose it is.
  private struct Piece: Hashable {
    var owner: UInt64
    var line: UInt64 = 0
    var number = 0
    var cost = 1

    var weight: WorkWeight { WorkWeight(owner: owner, line: line, cost: cost) }
  }

  private let portions = WorkPortions(cost: 10, lightCost: 2)

  private func backlog(_ pieces: [Piece]) -> Backlog<Piece> {
    var backlog = Backlog<Piece>(portions)
    for piece in pieces { backlog.add(piece, piece.weight) }
    return backlog
  }

  /// Pieces of one line, numbered.
  private func pieces(_ count: Int, of owner: UInt64, line: UInt64 = 0, cost: Int = 1) -> [Piece] {
    (0..<count).map { Piece(owner: owner, line: line, number: $0, cost: cost) }
  }

  @Test func aLonePieceIsAPortionHoweverDearItIs() {
    for cost in [1, 10, 1_000] {
      var backlog = backlog(pieces(1, of: 1, cost: cost))
      #expect(backlog.nextPortion().count == 1)
      #expect(backlog.isEmpty)
      #expect(backlog.nextPortion().isEmpty)
    }
  }

  @Test func whatFitsIsOnePortionInItsOrder() {
    let all = pieces(3, of: 2) + pieces(1, of: 1, cost: 5) + pieces(2, of: 3)
    var backlog = Backlog<Piece>(portions)
    #expect(backlog.nextPortion(adding: all, \.weight) == all)
    #expect(backlog.isEmpty)
    // One more than fits: the light ones go first.
    let more = pieces(1, of: 1, cost: 8) + pieces(3, of: 2)
    #expect(backlog.nextPortion(adding: more, \.weight) == pieces(3, of: 2))
    #expect(backlog.nextPortion(adding: [], \.weight) == pieces(1, of: 1, cost: 8))
  }

  @Test func aPortionCostsNoMoreThanItsCeiling() {
    var backlog = backlog(pieces(20, of: 1, cost: 3) + pieces(20, of: 2, cost: 4))
    while !backlog.isEmpty {
      let portion = backlog.nextPortion()
      #expect(portion.reduce(0) { $0 + $1.cost } <= 10)
      #expect(portion.count > 1 || backlog.count < 2, "and is as full as it may be")
    }
  }

  /// The reason of it all: one device uploads, and another presses a button.
  @Test func aLightPieceWaitsForOneHeavyPortionAtMost() {
    var backlog = backlog(pieces(64, of: 1, cost: 8))
    for number in 0..<20 {
      let press = Piece(owner: 2, number: number)
      backlog.add(press, press.weight)
      let next = [backlog.nextPortion(), backlog.nextPortion()]
      #expect(next.contains([press]), "\(number)")
    }
  }

  @Test func lightWorkWithoutEndDoesNotStopTheHeavy() {
    var backlog = backlog(pieces(5, of: 1, cost: 8))
    var heavy = 0
    for number in 0..<10 {
      for owner: UInt64 in 2..<40 {
        let press = Piece(owner: owner, number: number)
        backlog.add(press, press.weight)
      }
      heavy += backlog.nextPortion().count { $0.owner == 1 }
    }
    #expect(heavy == 5, "every other portion is theirs")
  }

  @Test func ownersTakeTurns() {
    var backlog = backlog(pieces(100, of: 1, cost: 8))
    for piece in pieces(3, of: 2, cost: 8) { backlog.add(piece, piece.weight) }
    let first = (0..<6).flatMap { _ in backlog.nextPortion().map(\.owner) }
    #expect(first == [1, 2, 1, 2, 1, 2])
  }

  @Test func soDoTheLinesOfAnOwner() {
    var backlog = backlog(
      pieces(10, of: 1, line: 1, cost: 8) + pieces(2, of: 1, line: 2, cost: 8)
        + pieces(3, of: 2, cost: 8))
    let first = (0..<6).flatMap { _ in backlog.nextPortion().map { "\($0.owner).\($0.line)" } }
    #expect(first == ["1.1", "2.0", "1.2", "2.0", "1.1", "2.0"])
  }

  @Test func aLightPieceDoesNotOvertakeItsOwnLine() {
    var backlog = backlog([
      Piece(owner: 1, number: 0, cost: 8), Piece(owner: 1, number: 1),
      Piece(owner: 1, number: 2, cost: 8), Piece(owner: 1, number: 3),
    ])
    var order: [Int] = []
    while !backlog.isEmpty { order += backlog.nextPortion().map(\.number) }
    #expect(order == [0, 1, 2, 3])
  }

  @Test(arguments: 0..<40)
  func everyPieceIsDoneOnceAndEveryLineInItsOrder(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var backlog = Backlog<Piece>(portions)
    var given: [WorkWeight: Int] = [:]
    var done: [Piece] = []
    var count = 0
    for _ in 0..<200 {
      var newcomers: [Piece] = []
      for _ in 0..<Int.random(in: 0...6, using: &random) {
        var piece = Piece(
          owner: UInt64.random(in: 0...4, using: &random),
          line: UInt64.random(in: 0...2, using: &random))
        let line = piece.weight
        piece.number = given[line, default: 0]
        given[line] = piece.number + 1
        piece.cost = Int.random(in: 1...14, using: &random)
        newcomers.append(piece)
      }
      count += newcomers.count
      done += backlog.nextPortion(adding: newcomers, \.weight)
      #expect(backlog.count + done.count == count)
    }
    while !backlog.isEmpty { done += backlog.nextPortion() }
    #expect(done.count == count)
    var next: [WorkWeight: Int] = [:]
    for piece in done {
      let line = WorkWeight(owner: piece.owner, line: piece.line)
      #expect(piece.number == next[line, default: 0])
      next[line] = piece.number + 1
    }
    #expect(next == given)
  }
}
