import LockstepModel
import Testing

@testable import LockstepClient

struct AgentDeadlinesTests {
  private func at(_ milliseconds: Int64) -> Instant {
    Instant(nanoseconds: milliseconds * 1_000_000)
  }

  @Test func theEarliestComesFirstAndEachOnce() {
    var deadlines = AgentDeadlines()
    deadlines.set(.poll, at(30))
    deadlines.set(.retry, at(10))
    deadlines.set(.due, at(20))
    #expect(deadlines.next == at(10))
    #expect(deadlines.removeExpired(at: at(9)) == [])
    #expect(deadlines.removeExpired(at: at(20)) == [.retry, .due])
    #expect(deadlines.removeExpired(at: at(20)) == [])
    #expect(deadlines.next == at(30))
  }

  @Test func thereIsOneOfEachKind() {
    var deadlines = AgentDeadlines()
    deadlines.set(.poll, at(30))
    deadlines.set(.poll, at(50))
    #expect(deadlines[.poll] == at(50))
    deadlines.clear(.poll)
    #expect(deadlines.next == nil)
  }
}
