import LockstepCrypto
import Testing

struct P256Tests {
  /// FIPS 186-5: the number of the curve's points.
  private static let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"
  private static let generator =
    "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    + "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"

  /// RFC 6979 appendix A.2.5: the signatures are determined by key and message.
  @Test(arguments: [
    (
      "sample",
      "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
        + "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
    ),
    (
      "test",
      "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367"
        + "019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083"
    ),
  ])
  func signaturesAreThePublishedOnes(message: String, signature: String) throws {
    let key = try #require(
      P256PrivateKey(octets("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721")))
    #expect(
      hexadecimal(key.publicKey.bytes)
        == "0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
        + "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299")
    #expect(hexadecimal(key.signature(of: Array(message.utf8))) == signature)
    #expect(key.publicKey.verifies(octets(signature), of: Array(message.utf8)))
  }

  /// RFC 7515 appendix A.3: a JWS with ES256.
  @Test func aPublishedTokenVerifies() throws {
    let bytes = { (text: String) in try #require(Base64.decodeURL(text)) }
    let key = try #require(
      P256PublicKey(
        [4] + bytes("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU")
          + bytes("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")))
    let message = Array(
      ("eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
        + "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ").utf8)
    let signature = try bytes(
      "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q")
    #expect(key.verifies(signature, of: message))
    let own = try #require(P256PrivateKey(bytes("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI")))
    #expect(own.publicKey == key)
  }

  /// CAVP, "ECC CDH Primitive", P-256, the first case.
  @Test func theSharedSecretIsThePublishedOne() throws {
    let key = try #require(
      P256PrivateKey(octets("7d7dc5f71eb29ddaf80d6214632eeae03d9058af1fb6d22ed80badb62bc1a534")))
    let other = try #require(
      P256PublicKey(
        octets(
          "04700c48f77f56584c5cc632ca65640db91b6bacce3a4df6b42ce7cc838833d287"
            + "db71e509e3fd9b060ddb20ba5c51dcc5948d46fbf640dfe0441782cab85fa4ac")))
    #expect(
      hexadecimal(key.sharedSecret(with: other))
        == "46fc62106420ff012e54a434fbdd2d25ccc5852060561e68040dd7778997bd7b")
  }

  @Test func bothSidesComputeOneSecret() throws {
    for number: UInt8 in 1...20 {
      let one = try #require(P256PrivateKey([UInt8](repeating: number, count: 32)))
      let other = try #require(P256PrivateKey([UInt8](repeating: 100 + number, count: 32)))
      #expect(
        one.sharedSecret(with: other.publicKey) == other.sharedSecret(with: one.publicKey))
      #expect(one.scalar == [UInt8](repeating: number, count: 32))
    }
  }

  @Test func scalarsReachFromOneToTheOrder() throws {
    let one = [UInt8](repeating: 0, count: 31) + [1]
    #expect(try hexadecimal(#require(P256PrivateKey(one)).publicKey.bytes) == Self.generator)
    var last = octets(Self.order)
    last[31] -= 1
    // The key of the order less 1 is the generator mirrored at the x axis.
    let mirrored = try #require(P256PrivateKey(last)).publicKey.bytes
    #expect(mirrored[..<33] == octets(Self.generator)[..<33])
    #expect(mirrored != octets(Self.generator))
    var beyond = octets(Self.order)
    beyond[31] += 1
    for scalar in [
      [UInt8](repeating: 0, count: 32), octets(Self.order), beyond,
      [UInt8](repeating: 0xFF, count: 32), [], [1], Array(one.dropFirst()), [0] + one,
    ] {
      #expect(P256PrivateKey(scalar) == nil)
    }
  }

  @Test func pointsBesideTheCurveAreRefused() {
    let point = octets(Self.generator)
    #expect(P256PublicKey(point) != nil)
    for index in 1..<point.count {
      var broken = point
      broken[index] ^= 1 << UInt8(index % 8)
      #expect(P256PublicKey(broken) == nil)
    }
    #expect(P256PublicKey([4] + [UInt8](repeating: 0, count: 64)) == nil)
    // x and y above the field's prime.
    #expect(P256PublicKey([4] + [UInt8](repeating: 0xFF, count: 64)) == nil)
  }

  @Test func otherFormsOfPointsAreRefused() {
    let point = octets(Self.generator)
    for form: UInt8 in [0, 1, 2, 3, 5, 6, 7, 0xFF] {
      #expect(P256PublicKey([form] + point[1...]) == nil)
    }
    #expect(P256PublicKey([3] + point[1..<33]) == nil)
    #expect(P256PublicKey([0]) == nil)
    #expect(P256PublicKey([]) == nil)
    #expect(P256PublicKey(point.dropLast()) == nil)
    #expect(P256PublicKey(point + [0]) == nil)
  }

  @Test func everyFlippedBitOfASignatureIsRefused() throws {
    let key = try #require(P256PrivateKey([UInt8](repeating: 7, count: 32)))
    let signature = key.signature(of: [1, 2, 3])
    #expect(key.publicKey.verifies(signature, of: [1, 2, 3]))
    #expect(!key.publicKey.verifies(signature, of: [1, 2]))
    for index in signature.indices {
      for bit: UInt8 in 0..<8 {
        var broken = signature
        broken[index] ^= 1 << bit
        #expect(!key.publicKey.verifies(broken, of: [1, 2, 3]))
      }
    }
    let other = try #require(P256PrivateKey([UInt8](repeating: 8, count: 32)))
    #expect(!other.publicKey.verifies(signature, of: [1, 2, 3]))
  }

  @Test func signaturesOutOfRangeAreRefused() throws {
    let key = try #require(P256PrivateKey([UInt8](repeating: 7, count: 32))).publicKey
    let zero = [UInt8](repeating: 0, count: 32)
    let one = [UInt8](repeating: 0, count: 31) + [1]
    for signature in [
      zero + zero, zero + one, one + zero, octets(Self.order) + one, one + octets(Self.order),
      [], one, one + one + [0], [UInt8](repeating: 0xFF, count: 64),
    ] {
      #expect(!key.verifies(signature, of: []))
    }
  }
}

/// Returns the bytes of hexadecimal digits.
func octets(_ text: String) -> [UInt8] {
  let digits = text.compactMap(\.hexDigitValue)
  return stride(from: 0, to: digits.count - 1, by: 2).map {
    UInt8(digits[$0] << 4 | digits[$0 + 1])
  }
}
