import Foundation
import Glibc
import Testing

@testable import LockstepEventLoop

struct LoopThreadTests {
  /// Returns the scheduler slice of the calling thread, in nanoseconds; nil if the kernel does not
  /// report it.
  private static func slice() -> Int? {
    guard let text = try? String(contentsOfFile: "/proc/thread-self/sched", encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix("se.slice") }),
      let number = line.split(separator: ":").last
    else { return nil }
    return Int(number.trimmingCharacters(in: .whitespaces))
  }

  private static func niceness() -> Int32 { getpriority(__priority_which_t(0), 0) }

  /// A prompt thread asks for short slices; the threads that it starts do not.
  @Test func promptUrgencyIsNotInherited() throws {
    let found = Locked<[Int?]>([])
    let usual = Locked<Int?>(nil)
    let plain = try LoopThread("plain") { usual.withLock { $0 = Self.slice() } }
    plain.join()
    let prompt = try LoopThread("prompt", .prompt) {
      found.withLock { $0.append(Self.slice()) }
      let child = try? LoopThread("child") { found.withLock { $0.append(Self.slice()) } }
      child?.join()
    }
    prompt.join()
    let slices = found.withLock { $0 }
    #expect(slices.count == 2)
    // An older kernel ignores the slice.
    let isHeeded = slices.first == 100_000
    #expect(slices.last == usual.withLock { $0 } || !isHeeded)
  }

  /// A patient thread yields the processor to others, whose niceness stays the same.
  @Test func patientThreadsHaveAHigherNiceness() throws {
    let found = Locked<[Int32]>([])
    for urgency in [LoopThread.Urgency.patient, .usual, .prompt] {
      let thread = try LoopThread("nice", urgency) {
        found.withLock { $0.append(Self.niceness()) }
      }
      thread.join()
    }
    let usual = Self.niceness()
    #expect(found.withLock { $0 } == [max(10, usual), usual, usual])
  }

  /// A patient thread waits for its turn when it wakes; another one may interrupt it.
  @Test func patientThreadsInterruptNoOther() throws {
    let found = Locked<[Int32]>([])
    for urgency in [LoopThread.Urgency.patient, .usual, .prompt] {
      let thread = try LoopThread("turn", urgency) {
        found.withLock { $0.append(sched_getscheduler(0)) }
      }
      thread.join()
    }
    let usual = sched_getscheduler(0)
    // SCHED_BATCH is 3 and SCHED_OTHER 0 (sched(7)); a thread of another policy keeps it.
    #expect(found.withLock { $0 } == [usual == 0 ? 3 : usual, usual, usual])
  }
}
