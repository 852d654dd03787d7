import Testing

@testable import Link

struct LinkedZlibTests {
  @Test func versionIsANumberOfSeveralParts() {
    #expect(LinkedZlib.version.split(separator: ".").count >= 2)
  }
}
