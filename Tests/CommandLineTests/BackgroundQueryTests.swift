import Glibc
import Synchronization
import Testing

@testable import LockstepCommandLine

/// A query runs while the screen continues.
struct LookTests {
  /// Waits until there is an answer to take.
  private func answer(_ query: BackgroundQuery<Int>) throws -> Int? {
    var wanted = pollfd(fd: query.descriptor, events: Int16(POLLIN), revents: 0)
    try #require(poll(&wanted, 1, 90_000) == 1, "no answer came")
    return query.nextAnswer()
  }

  @Test func eachQuestionHasItsAnswerOnce() throws {
    let asked = Atomic(0)
    let query = try BackgroundQuery("query test") {
      asked.wrappingAdd(1, ordering: .relaxed).newValue
    }
    defer { query.stop() }
    #expect(query.nextAnswer() == nil)
    for number in 1...3 {
      try query.start()
      #expect(try answer(query) == number)
      #expect(query.nextAnswer() == nil)
    }
  }

  @Test func whoHasNotAnsweredYetIsNotAskedAgain() throws {
    let begun = Atomic(0)
    let gate = Mutex(())
    let query = try BackgroundQuery("query test") {
      let number = begun.wrappingAdd(1, ordering: .relaxed).newValue
      return gate.withLock { _ in number }
    }
    defer { query.stop() }
    try gate.withLock { _ in
      try query.start()
      try query.start()
    }
    #expect(try answer(query) == 1)
    #expect(begun.load(ordering: .relaxed) == 1)
  }
}
