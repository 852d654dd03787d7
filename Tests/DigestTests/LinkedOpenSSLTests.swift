import Testing

@testable import Digest

struct LinkedOpenSSLTests {
  @Test func versionIsANumberOfThreeParts() {
    #expect(LinkedOpenSSL.version.split(separator: ".").count == 3)
  }
}
