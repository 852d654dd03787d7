import LockstepCrypto
import LockstepModel
import LockstepWebPush
import Testing

struct PushMessageTests {
  private static let auth = "BTBZMqHH6r4Tts7J_aSIgg"

  private func device() throws -> P256PrivateKey {
    try #require(P256PrivateKey(octets("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94")))
  }

  /// RFC 8291 section 5 and appendix A.
  @Test func aMessageIsThePublishedOne() throws {
    let recipient = try #require(
      PushRecipient(
        p256dh:
          "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIA"
          + "iw4", auth: Self.auth))
    let sender = try #require(P256PrivateKey(octets("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")))
    let content = Array("When I grow up, I want to be a watermelon".utf8)
    let body = PushMessage.encrypt(
      content, padding: 0, to: recipient, sender: sender,
      salt: try octets("DGv6ra1nlYgDCS1FRnbzlw"))
    #expect(
      Base64.encodeURL(body)
        == "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocIn"
        + "mYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQe"
        + "xSgSxsj_Qulcy4a-fN")
    let device = try device()
    #expect(device.publicKey == recipient.publicKey)
    #expect(PushMessage.decrypt(body, key: device, auth: recipient.auth) == content)
  }

  @Test func everyLengthComesBackAndLooksAlike() throws {
    let device = try device()
    let recipient = try #require(
      PushRecipient(publicKey: device.publicKey.bytes, auth: octets(Self.auth)))
    for count in [0, 1, 40, 100, 510, 638, 639] {
      let content = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
      let body = try #require(
        PushMessage.encrypt(content, to: recipient, secrets: secrets(seed: UInt8(count % 256))))
      #expect(body.count == 742)
      #expect(body.count == PushMessage.bodyBytes)
      #expect(PushMessage.decrypt(body, key: device, auth: recipient.auth) == content)
    }
    let tooMuch = [UInt8](repeating: 1, count: PushMessage.contentBytes + 1)
    #expect(PushMessage.encrypt(tooMuch, to: recipient, secrets: secrets(seed: 1)) == nil)
  }

  @Test func everyChangeIsRefused() throws {
    let device = try device()
    let auth = try octets(Self.auth)
    let recipient = try #require(PushRecipient(publicKey: device.publicKey.bytes, auth: auth))
    let body = try #require(
      PushMessage.encrypt([1, 2, 3], to: recipient, secrets: secrets(seed: 5)))
    // The record size, from byte 16 on, is not authenticated (RFC 8188 section 2.1).
    for index in body.indices where !(16..<20).contains(index) {
      for bit: UInt8 in 0..<8 {
        var broken = body
        broken[index] ^= 1 << bit
        #expect(PushMessage.decrypt(broken, key: device, auth: auth) == nil)
      }
    }
    for count in 0..<body.count {
      #expect(PushMessage.decrypt(Array(body.prefix(count)), key: device, auth: auth) == nil)
    }
    #expect(PushMessage.decrypt(body + [0], key: device, auth: auth) == nil)
    #expect(
      PushMessage.decrypt(
        body + [UInt8](repeating: 0, count: 4_096), key: device, auth: auth) == nil)
  }

  @Test func wrongKeysAreRefused() throws {
    let device = try device()
    let auth = try octets(Self.auth)
    let recipient = try #require(PushRecipient(publicKey: device.publicKey.bytes, auth: auth))
    let body = try #require(
      PushMessage.encrypt([1, 2, 3], to: recipient, secrets: secrets(seed: 5)))
    let other = PushMessage.newKey(from: secrets(seed: 6))
    #expect(PushMessage.decrypt(body, key: other, auth: auth) == nil)
    #expect(PushMessage.decrypt(body, key: device, auth: auth.reversed()) == nil)
    #expect(PushMessage.decrypt(body, key: device, auth: []) == nil)
  }

  /// The device would otherwise have to hold many records.
  @Test func severalRecordsAreRefused() throws {
    let device = try device()
    let sender = PushMessage.newKey(from: secrets(seed: 1))
    let auth = try octets(Self.auth)
    let secret = HKDF.derive(
      sender.sharedSecret(with: device.publicKey), salt: auth,
      info: Array("WebPush: info\0".utf8) + device.publicKey.bytes + sender.publicKey.bytes,
      count: 32)
    for (size, isRead) in [(4_096, true), (58, true), (57, false), (30, false)] {
      let encoding = ContentEncoding(
        salt: [UInt8](0..<16), recordSize: size, keyID: sender.publicKey.bytes)
      let body = encoding.encrypt([UInt8](0..<41), padding: 0, secret: secret)
      #expect((PushMessage.decrypt(body, key: device, auth: auth) != nil) == isRead)
    }
  }

  @Test func keysOfASubscriptionHaveOneForm() throws {
    let key = try device().publicKey.bytes
    let text = Base64.encodeURL(key)
    #expect(PushRecipient(p256dh: text, auth: Self.auth)?.publicKey.bytes == key)
    #expect(PushRecipient(p256dh: text + "=", auth: Self.auth) == nil)
    #expect(PushRecipient(p256dh: text, auth: Self.auth + "==") == nil)
    #expect(PushRecipient(p256dh: String(text.dropLast(3)), auth: Self.auth) == nil)
    #expect(PushRecipient(p256dh: text, auth: String(Self.auth.dropLast(2))) == nil)
    #expect(PushRecipient(p256dh: "", auth: "") == nil)
    #expect(PushRecipient(p256dh: Base64.encodeURL([3] + key[1..<33]), auth: Self.auth) == nil)
  }
}
