import Testing

@testable import LockstepWire

struct LinkedZlibTests {
  @Test func versionIsANumberOfSeveralParts() {
    #expect(LinkedZlib.version.split(separator: ".").count >= 2)
  }
}
