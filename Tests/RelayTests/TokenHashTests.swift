import Testing

@testable import LockstepRelay

struct TokenHashTests {
  private let bytes: [UInt8] = Array(1...32)

  @Test func `a hash keeps its bytes`() { #expect(TokenHash(bytes).bytes == bytes) }

  @Test(arguments: 0..<32)
  func `two hashes that differ in one byte are different`(place: Int) {
    var others = bytes
    others[place] ^= 1
    #expect(TokenHash(others) != TokenHash(bytes))
    #expect(TokenHash(bytes) == TokenHash(bytes))
  }
}
