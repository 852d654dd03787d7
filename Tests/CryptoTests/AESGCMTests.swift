import LockstepCrypto
import Testing

struct AESGCMTests {
  /// McGrew and Viega, "The Galois/Counter Mode of Operation", test cases 1 to 3.
  @Test(arguments: [
    (
      "00000000000000000000000000000000", "000000000000000000000000", "",
      "58e2fccefa7e3061367f1d57a4e7455a"
    ),
    (
      "00000000000000000000000000000000", "000000000000000000000000",
      "00000000000000000000000000000000",
      "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf"
    ),
    (
      "feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
      "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
        + "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985"
        + "4d5c2af327cd64a62cf35abd2ba6fab4"
    ),
  ])
  func sealsAreThePublishedOnes(key: String, nonce: String, bytes: String, sealed: String) {
    let cipher = AES128GCM(key: octets(key))
    #expect(hexadecimal(cipher.sealed(octets(bytes), nonce: octets(nonce))) == sealed)
    #expect(cipher.opened(octets(sealed), nonce: octets(nonce)) == octets(bytes))
  }

  @Test func everyLengthComesBack() {
    let cipher = AES128GCM(key: [UInt8](0..<16))
    let nonce = [UInt8](0..<12)
    for count in Array(0..<70) + [4_096, 100_000] {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
      let sealed = cipher.sealed(bytes, nonce: nonce)
      #expect(sealed.count == count + AES128GCM.overhead)
      #expect(cipher.opened(sealed, nonce: nonce) == bytes)
    }
  }

  @Test func everyFlippedBitIsRefused() {
    let cipher = AES128GCM(key: [UInt8](0..<16))
    let nonce = [UInt8](0..<12)
    let sealed = cipher.sealed(Array("seventeen letters".utf8), nonce: nonce)
    for index in sealed.indices {
      for bit: UInt8 in 0..<8 {
        var broken = sealed
        broken[index] ^= 1 << bit
        #expect(cipher.opened(broken, nonce: nonce) == nil)
      }
    }
    for count in 0..<sealed.count {
      #expect(cipher.opened(Array(sealed.prefix(count)), nonce: nonce) == nil)
    }
    #expect(cipher.opened(sealed + [0], nonce: nonce) == nil)
    #expect(cipher.opened(sealed, nonce: [UInt8](1..<13)) == nil)
    #expect(AES128GCM(key: [UInt8](1..<17)).opened(sealed, nonce: nonce) == nil)
  }
}
