import Testing

@testable import LockstepCrypto

struct LinkedOpenSSLTests {
  @Test func versionIsANumberOfThreeParts() {
    #expect(LinkedOpenSSL.version.split(separator: ".").count == 3)
  }
}
