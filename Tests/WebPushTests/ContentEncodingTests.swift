import LockstepCrypto
import LockstepModel
import LockstepWebPush
import Testing

struct ContentEncodingTests {
  private static let walrus = Array("I am the walrus".utf8)

  /// RFC 8188 section 3.1.
  @Test func oneRecordIsThePublishedOne() throws {
    let secret = try octets("yqdlZ-tYemfogSmv7Ws5PQ")
    let encoding = ContentEncoding(salt: try octets("I1BsxtFttlv3u_Oo94xnmw"), recordSize: 4_096)
    let message = encoding.encrypt(Self.walrus, padding: 0, secret: secret)
    #expect(
      Base64.encodeURL(message)
        == "I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg")
    #expect(ContentEncoding(headerOf: message) == encoding)
    #expect(encoding.decrypt(message, secret: secret) == Self.walrus)
  }

  /// RFC 8188 section 3.2: two records, a byte of padding in the first, and a key id.
  @Test func twoRecordsAreThePublishedOnes() throws {
    let secret = try octets("BO3ZVPxUlnLORbVGMpbT1Q")
    let encoding = ContentEncoding(
      salt: try octets("uNCkWiNYzKTnBN9ji3-qWA"), recordSize: 25, keyID: Array("a1".utf8))
    let message = encoding.encrypt(Self.walrus, padding: 1, secret: secret)
    #expect(
      Base64.encodeURL(message)
        == "uNCkWiNYzKTnBN9ji3-qWAAAABkCYTHOG8chz_gnvgOqdGYovxyjuqRyJFjEDyoF1Fvkj6hQPdPHI51OEUK"
        + "Epgz3SsLWIqS_uA")
    #expect(ContentEncoding(headerOf: message) == encoding)
    #expect(encoding.decrypt(message, secret: secret) == Self.walrus)
  }

  @Test func everyLengthComesBack() {
    let secret = [UInt8](0..<16)
    for size in [18, 19, 25, 40, 4_096] {
      let encoding = ContentEncoding(salt: [UInt8](16..<32), recordSize: size)
      for count in [0, 1, 2, 7, 8, 9, 22, 23, 24, 64, 100] {
        for padding in [0, 1, 7, 8, 9, 50] {
          let content = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
          let message = encoding.encrypt(content, padding: padding, secret: secret)
          #expect(encoding.decrypt(message, secret: secret) == content)
          let records = (message.count - encoding.headerCount + size - 1) / size
          #expect(
            message.count == encoding.headerCount + count + padding
              + records * ContentEncoding.recordOverhead)
        }
      }
    }
  }

  @Test func everyChangeOfTheRecordsIsRefused() {
    let secret = [UInt8](0..<16)
    let encoding = ContentEncoding(salt: [UInt8](16..<32), recordSize: 25)
    let message = encoding.encrypt(Self.walrus + Self.walrus, padding: 0, secret: secret)
    for index in encoding.headerCount..<message.count {
      for bit: UInt8 in 0..<8 {
        var broken = message
        broken[index] ^= 1 << bit
        #expect(encoding.decrypt(broken, secret: secret) == nil)
      }
    }
    // Also where a record ends: the last one is marked as such.
    for count in 0..<message.count {
      #expect(encoding.decrypt(Array(message.prefix(count)), secret: secret) == nil)
    }
    #expect(encoding.decrypt(message + [0], secret: secret) == nil)
    let records = Array(message[encoding.headerCount...])
    let swapped = message.prefix(21) + records[25..<50] + records[..<25] + records[50...]
    #expect(encoding.decrypt(Array(swapped), secret: secret) == nil)
    #expect(encoding.decrypt(message, secret: [UInt8](1..<17)) == nil)
    #expect(
      ContentEncoding(salt: [UInt8](17..<33), recordSize: 25).decrypt(message, secret: secret)
        == nil)
    #expect(
      ContentEncoding(salt: encoding.salt, recordSize: 26).decrypt(message, secret: secret) == nil)
  }

  /// Records that another sender sealed with the right key, but not in the right form.
  @Test(arguments: [[], [0], [0, 0, 0], [65, 1], [65, 1, 0], [65, 3], [65]])
  func recordsWithoutTheirDelimiterAreRefused(record: [UInt8]) {
    let secret = [UInt8](0..<16)
    let encoding = ContentEncoding(salt: [UInt8](16..<32), recordSize: 25)
    let header = encoding.encrypt([], padding: 0, secret: secret).prefix(encoding.headerCount)
    #expect(encoding.decrypt(header + sealed(record, encoding, secret), secret: secret) == nil)
  }

  @Test func aRecordOfADelimiterIsEmpty() {
    let secret = [UInt8](0..<16)
    let encoding = ContentEncoding(salt: [UInt8](16..<32), recordSize: 25)
    let header = encoding.encrypt([], padding: 0, secret: secret).prefix(encoding.headerCount)
    #expect(encoding.decrypt(header + sealed([2, 0], encoding, secret), secret: secret) == [])
  }

  @Test func brokenHeadersAreRefused() {
    let header = [UInt8](0..<16) + [0, 0, 16, 0, 2, 65, 66]
    #expect(ContentEncoding(headerOf: header)?.keyID == [65, 66])
    for count in 0..<header.count {
      #expect(ContentEncoding(headerOf: Array(header.prefix(count))) == nil)
    }
    for size: UInt8 in 0...17 {
      #expect(ContentEncoding(headerOf: [UInt8](0..<16) + [0, 0, 0, size, 0]) == nil)
    }
    #expect(ContentEncoding(headerOf: [UInt8](0..<16) + [0, 0, 0, 18, 0])?.recordSize == 18)
    let most = ContentEncoding(headerOf: [UInt8](0..<16) + [255, 255, 255, 255, 0])
    #expect(most?.recordSize == Int(UInt32.max))
  }

  private func sealed(
    _ record: [UInt8], _ encoding: ContentEncoding, _ secret: [UInt8]
  ) -> [UInt8] {
    let key = HKDF.derive(
      secret, salt: encoding.salt, info: Array("Content-Encoding: aes128gcm\0".utf8), count: 16)
    let nonce = HKDF.derive(
      secret, salt: encoding.salt, info: Array("Content-Encoding: nonce\0".utf8), count: 12)
    return AES128GCM(key: key).sealed(record, nonce: nonce)
  }
}

/// Returns the bytes of Base64 for URLs.
func octets(_ text: String) throws -> [UInt8] { try #require(Base64.decodeURL(text)) }

/// A source of secrets that repeats with its seed.
func secrets(seed: UInt8) -> SecretSource {
  SecretSource { count in
    HKDF.derive([seed], salt: [], info: [UInt8(truncatingIfNeeded: count)], count: count)
  }
}
