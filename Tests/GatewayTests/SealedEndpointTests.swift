import LockstepCrypto
import LockstepModel
import LockstepWebPush
import Testing

@testable import LockstepGateway

struct SealedEndpointTests {
  private let key = SIV(key: [UInt8](repeating: 7, count: SIV.keyBytes))
  private let relay = Samples.key(1)

  private func target(
    _ token: [UInt8] = Samples.deviceToken, topic: String = "com.example.app",
    in environment: APNsEnvironment = .production
  ) throws -> APNsTarget {
    try #require(APNsTarget(deviceToken: token, topic: topic, environment: environment))
  }

  @Test(arguments: APNsEnvironment.allCases)
  func opensAsWhatItWasMadeOf(_ environment: APNsEnvironment) throws {
    let target = try target(in: environment)
    let text = SealedEndpoint(target: target, relayKey: relay.publicKey).sealed(with: key)
    let opened = try #require(SealedEndpoint(opening: text, with: key))
    #expect(opened.target == target)
    #expect(opened.allows(relay.publicKey))
    #expect(!opened.allows(Samples.key(2).publicKey))
  }

  @Test func longestOneFitsItsLimit() throws {
    let target = try target(
      [UInt8](repeating: 1, count: 100), topic: String(repeating: "a", count: 155))
    let text = SealedEndpoint(target: target, relayKey: relay.publicKey).sealed(with: key)
    #expect(text.utf8.count <= SealedEndpoint.charactersMax)
    #expect(SealedEndpoint(opening: text, with: key)?.target == target)
    // With a host name it is far shorter than a relay allows for an endpoint.
    #expect(text.utf8.count < Limits.wakeEndpointBytes / 4)
  }

  @Test func sameDeviceGetsTheSameURLAgain() throws {
    let (first, second) = (try target(), try target())
    let texts = [first, second].map {
      SealedEndpoint(target: $0, relayKey: relay.publicKey).sealed(with: key)
    }
    #expect(texts[0] == texts[1])
  }

  @Test func changedCharacterDoesNotOpen() throws {
    let text = SealedEndpoint(target: try target(), relayKey: relay.publicKey).sealed(with: key)
    let characters = Array(text)
    for index in characters.indices {
      var changed = characters
      changed[index] = changed[index] == "A" ? "B" : "A"
      #expect(SealedEndpoint(opening: String(changed), with: key) == nil, "at \(index)")
    }
    #expect(SealedEndpoint(opening: String(text.dropLast()), with: key) == nil)
    #expect(SealedEndpoint(opening: text + "A", with: key) == nil)
    #expect(SealedEndpoint(opening: "", with: key) == nil)
    let other = SIV(key: [UInt8](repeating: 8, count: SIV.keyBytes))
    #expect(SealedEndpoint(opening: text, with: other) == nil)
  }

  /// Some readers of Base64 ignore the unused bits of the last character.
  @Test func otherSpellingDoesNotOpen() throws {
    let target = try target([UInt8](repeating: 9, count: 34))
    let text = SealedEndpoint(target: target, relayKey: relay.publicKey).sealed(with: key)
    let bytes = try #require(Base64.decodeURL(text))
    #expect(!bytes.count.isMultiple(of: 3), "the last character has unused bits")
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    let spellings = alphabet.map { String(text.dropLast()) + String($0) }.filter { $0 != text }
    #expect(spellings.allSatisfy { SealedEndpoint(opening: $0, with: key) == nil })
  }
}
