import LockstepModel
import LockstepStorage
import Testing

@testable import LockstepRelay

struct AccountOfferTests {
  private let secrets = SecretSource { Array(repeating: 0x5A, count: $0) }

  @Test func theCodeOfAnOfferLetsTheFirstDeviceIn() throws {
    let store = MemoryZoneStore()
    let (offer, request) = try AccountOffer.make(label: "home", secrets: secrets, wall: 1_000)
    #expect(try store.commit([request], wall: 1_000) == [.done])
    #expect(offer.pairing.expiresAt == 1_000 + Limits.pairingMilliseconds)
    let code = try #require(PairingCode(typed: offer.pairing.code))
    let device = NewDevice(
      id: DeviceID(rawValue: 7),
      description: DeviceDescription(deviceName: "A", platform: "linux", appVersion: "1"),
      tokenHash: [1])
    let redeemed = try store.commit(
      [.redeemPairing(codeHash: code.hash, device: device)], wall: 2_000)
    #expect(redeemed == [.redeemed(offer.account, .everything)])
  }

  @Test func theBodySaysTheOffer() throws {
    let (offer, _) = try AccountOffer.make(label: "", secrets: secrets, wall: 5)
    #expect(try AccountOffer.decoded(body: offer.encodedBody()) == offer)
    for text in [
      "", "{}", #"{"code":"X","expiresAt":5}"#, #"{"accountID":"q","code":"X","expiresAt":5}"#,
    ] {
      #expect(throws: Refusal.self) { try AccountOffer.decoded(body: Array(text.utf8)) }
    }
  }

  @Test func theLinkIsThatOfARelayWithAnAddress() throws {
    var (offer, _) = try AccountOffer.make(label: "", secrets: secrets, wall: 5)
    #expect(offer.link == nil && offer.json["link"] == nil)
    offer.pairing.relay = "https://sync.example"
    #expect(offer.json["link"]?.string == "https://sync.example/#code=\(offer.pairing.code)")
    #expect(try AccountOffer.decoded(body: offer.encodedBody()) == offer)
  }

  @Test func aLabelHasABound() throws {
    let longest = String(repeating: "a", count: Limits.nameBytes)
    #expect(throws: Never.self) {
      try AccountOffer.make(label: longest, secrets: secrets, wall: 0)
    }
    #expect(throws: Refusal.self) {
      try AccountOffer.make(label: longest + "a", secrets: secrets, wall: 0)
    }
  }
}
