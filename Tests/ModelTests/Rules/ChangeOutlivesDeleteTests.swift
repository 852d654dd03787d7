import LockstepModel
import Testing

struct ChangeOutlivesDeleteTests {
  @Test func liveVersionStandsWholeEvenIfOlder() {
    let live = version(["completedPomodoros": 3], at: 1)
    let dead = version(nil, at: 9)
    for conflict in [
      Conflict(base: live, local: live, server: dead),
      Conflict(base: nil, local: dead, server: live),
    ] {
      #expect(
        ChangeOutlivesDelete.resolution(of: conflict)
          == .merged(fields: ["completedPomodoros": 3], copies: [])
      )
    }
  }

  @Test func twoDeletesAreADelete() {
    let conflict = Conflict(base: nil, local: version(nil, at: 1), server: version(nil, at: 2))
    #expect(ChangeOutlivesDelete.resolution(of: conflict) == .merged(fields: nil, copies: []))
  }

  @Test func twoLiveVersionsAreNotItsAffair() {
    let conflict = Conflict(base: nil, local: version([:]), server: version([:]))
    #expect(ChangeOutlivesDelete.resolution(of: conflict) == nil)
  }
}
