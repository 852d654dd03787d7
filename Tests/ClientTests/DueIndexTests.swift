import LockstepModel
import Testing

@testable import LockstepClient

struct DueIndexTests {
  private func due(_ at: Int64, _ owner: String, grace: Int64 = 2_000) -> DueEdit {
    DueEdit(dueAt: at, owner: owner, graceMilliseconds: grace, fields: [:])
  }

  @Test func anothersEditIsLeftToItForAWhileWhileConnected() {
    var index = DueIndex()
    index.set(due(1_000, "other"), for: .desk("a"))
    index.set(due(1_500, "me"), for: .desk("b"))
    #expect(
      index.times(on: "me") == DueTimes(whileConnected: 1_500, whileOffline: 1_000, own: 1_500))
    let offline = index.first(on: "me", isConnected: false, isClockTrusted: true)
    #expect(offline?.mark.key == .desk("a"))
    let connected = index.first(on: "me", isConnected: true, isClockTrusted: true)
    #expect(connected?.mark.key == .desk("b"))
    let untrusted = index.first(on: "me", isConnected: false, isClockTrusted: false)
    #expect(untrusted?.mark.key == .desk("b"))
  }

  @Test func aRecordWaitsForOneMomentAtMost() {
    var index = DueIndex()
    index.set(due(1_000, "me"), for: .desk("a"))
    index.set(due(3_000, "me"), for: .desk("a"))
    #expect(index.marks.count == 1)
    #expect(index.times(on: "me").whileOffline == 3_000)
    index.set(nil, for: .desk("a"))
    #expect(index.times(on: "me") == DueTimes())
  }

  @Test func absurdGraceDoesNotOverflow() {
    var index = DueIndex()
    index.set(due(1, "other", grace: -5), for: .desk("a"))
    #expect(index.times(on: "me").whileConnected == 1)
  }
}
