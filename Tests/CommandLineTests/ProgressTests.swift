import Synchronization
import Testing

@testable import LockstepCommandLine

struct ProgressTests {
  private final class Screen: Sendable {
    let text = Mutex("")
  }

  private func told(isShown: Bool) -> String {
    let screen = Screen()
    let progress = Progress(isShown: isShown) { text in screen.text.withLock { $0 += text } }
    progress.show("one")
    progress.show("two")
    progress.clear()
    return screen.text.withLock { $0 }
  }

  @Test func eachLineIsWrittenOverTheLast() {
    #expect(told(isShown: true) == "\r\u{1B}[Kone\r\u{1B}[Ktwo\r\u{1B}[K")
  }

  @Test func whereNobodyLooksNothingIsSaid() {
    #expect(told(isShown: false) == "")
  }
}
