import Glibc
import Synchronization
import Testing

@testable import LockstepCommand

/// A query runs while the screen continues.
struct LookTests {
  /// Waits until there is an answer to take.
  private func answer(_ look: Look<Int>) throws -> Int? {
    var wanted = pollfd(fd: look.descriptor, events: Int16(POLLIN), revents: 0)
    try #require(poll(&wanted, 1, 90_000) == 1, "no answer came")
    return look.take()
  }

  @Test func eachQuestionHasItsAnswerOnce() throws {
    let asked = Atomic(0)
    let look = try Look("look test") { asked.wrappingAdd(1, ordering: .relaxed).newValue }
    defer { look.end() }
    #expect(look.take() == nil)
    for number in 1...3 {
      try look.ask()
      #expect(try answer(look) == number)
      #expect(look.take() == nil)
    }
  }

  @Test func whoHasNotAnsweredYetIsNotAskedAgain() throws {
    let begun = Atomic(0)
    let gate = Mutex(())
    let look = try Look("look test") {
      let number = begun.wrappingAdd(1, ordering: .relaxed).newValue
      return gate.withLock { _ in number }
    }
    defer { look.end() }
    try gate.withLock { _ in
      try look.ask()
      try look.ask()
    }
    #expect(try answer(look) == 1)
    #expect(begun.load(ordering: .relaxed) == 1)
  }
}
