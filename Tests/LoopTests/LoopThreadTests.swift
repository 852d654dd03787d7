import Foundation
import Testing

@testable import Loop

struct LoopThreadTests {
  /// What the kernel says of the calling thread's slice, in nanoseconds; nil where it says nothing.
  private static func slice() -> Int? {
    guard let text = try? String(contentsOfFile: "/proc/thread-self/sched", encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix("se.slice") }),
      let number = line.split(separator: ":").last
    else { return nil }
    return Int(number.trimmingCharacters(in: .whitespaces))
  }

  /// A thread that somebody waits for asks for short slices, and those that it starts do not.
  @Test func whatIsPromptIsNotInherited() throws {
    let found = Locked<[Int?]>([])
    let usual = Locked<Int?>(nil)
    let plain = try LoopThread("plain") { usual.withLock { $0 = Self.slice() } }
    plain.join()
    let prompt = try LoopThread("prompt", isPrompt: true) {
      found.withLock { $0.append(Self.slice()) }
      let child = try? LoopThread("child") { found.withLock { $0.append(Self.slice()) } }
      child?.join()
    }
    prompt.join()
    let slices = found.withLock { $0 }
    #expect(slices.count == 2)
    // An older kernel takes no notice.
    let isHeeded = slices.first == 100_000
    #expect(slices.last == usual.withLock { $0 } || !isHeeded)
  }
}
