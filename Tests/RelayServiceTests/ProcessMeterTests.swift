import Glibc
import Testing

@testable import LockstepRelayService

struct ProcessMeterTests {
  @Test func aProcessKnowsWhatItTakes() throws {
    let measures = ProcessMeter.read()
    #expect(try #require(measures.residentBytes) > 1 << 20)
    #expect(try #require(measures.processorNanoseconds) > 0)
    let most = try #require(measures.mostDescriptors)
    #expect(most > 0)
    // Linux before 6.2 does not report the number of open descriptors.
    if let count = measures.openDescriptors { #expect((1...most).contains(count)) }
  }

  @Test func aFileThatIsNotThereHasNoSize() {
    #expect(ProcessMeter.fileBytes("/proc/self/nothing") == nil)
  }
}
