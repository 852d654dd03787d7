import LockstepModel
import Testing

@testable import LockstepCrypto

struct X25519Tests {
  /// RFC 7748 section 5.2, the first vector.
  @Test func multipliesAsTheRFC() throws {
    let key = try key("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4")
    let other = try bytes("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")
    let secret = try bytes("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552")
    #expect(key.sharedSecret(with: other) == secret)
  }

  /// RFC 7748 section 6.1.
  @Test func bothSidesComputeTheSameSecret() throws {
    let bob = try key("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
    #expect(
      bob.publicKey
        == (try bytes("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")))
    let other = try #require(X25519PrivateKey([UInt8](1...32)))
    let secret = try #require(bob.sharedSecret(with: other.publicKey))
    #expect(other.sharedSecret(with: bob.publicKey) == secret)
    #expect(other.bytes == [UInt8](1...32))
  }

  @Test func refusesKeysThatGiveASecretThatEverybodyKnows() throws {
    let key = try #require(X25519PrivateKey([UInt8](1...32)))
    #expect(key.sharedSecret(with: [UInt8](repeating: 0, count: 32)) == nil)
    #expect(key.sharedSecret(with: [1] + [UInt8](repeating: 0, count: 31)) == nil)
    for count in [0, 31, 33] {
      #expect(key.sharedSecret(with: [UInt8](repeating: 9, count: count)) == nil)
      #expect(X25519PrivateKey([UInt8](repeating: 9, count: count)) == nil)
    }
  }

  private func key(_ text: String) throws -> X25519PrivateKey {
    try #require(X25519PrivateKey(try bytes(text)))
  }

  private func bytes(_ text: String) throws -> [UInt8] { try #require(HexText.bytes(of: text)) }
}
