import LockstepCrypto
import Testing

/// scrypt in Swift, as on systems without OpenSSL.
struct PortableScryptTests {
  /// RFC 7914 section 12.
  @Test(arguments: [
    (
      Scrypt(cost: 16, blocks: 1, lanes: 1), "", "",
      "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"
        + "fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906"
    ),
    (
      Scrypt(cost: 1024, blocks: 8, lanes: 16), "password", "NaCl",
      "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
        + "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"
    ),
  ])
  func keysAreThoseOfTheRFC(scrypt: Scrypt, secret: String, salt: String, key: String) {
    let derived = PortableScrypt(scrypt)?.derive(
      Array(secret.utf8), salt: Array(salt.utf8), count: 64, memoryBytes: 64 << 20)
    #expect(derived.map { hexadecimal($0) } == key)
  }

  @Test(arguments: [
    Scrypt(cost: 2, blocks: 1, lanes: 1), Scrypt(cost: 64, blocks: 3, lanes: 2),
    Scrypt(cost: 256, blocks: 8, lanes: 1),
  ])
  func keysAreThoseOfOpenSSL(scrypt: Scrypt) {
    for count in [1, 31, 32, 33, 100] {
      let expected = scrypt.derive([1, 2], salt: [3], count: count, memoryBytes: 1 << 20)
      #expect(expected != nil)
      #expect(
        PortableScrypt(scrypt)?.derive([1, 2], salt: [3], count: count, memoryBytes: 1 << 20)
          == expected)
    }
  }

  @Test(arguments: [
    Scrypt(cost: 1, blocks: 8, lanes: 1), Scrypt(cost: 24, blocks: 8, lanes: 1),
    Scrypt(cost: 1 << 16, blocks: 1, lanes: 1), Scrypt(cost: 16, blocks: 1 << 29, lanes: 2),
    Scrypt(cost: 16, blocks: 0, lanes: 1), Scrypt(cost: -16, blocks: 1, lanes: 1),
    Scrypt(cost: 16, blocks: .max, lanes: .max),
  ])
  func parametersThatAreNotValidAreRefused(scrypt: Scrypt) {
    #expect(PortableScrypt(scrypt) == nil)
    #expect(scrypt.derive([1], salt: [2], count: 32, memoryBytes: 1 << 30) == nil)
  }

  @Test func tooMuchMemoryIsRefused() {
    let scrypt = Scrypt(cost: 1 << 16, blocks: 8, lanes: 1)
    #expect(PortableScrypt(scrypt)?.derive([1], salt: [2], count: 32, memoryBytes: 64 << 20) == nil)
    let huge = Scrypt(cost: 1 << 62, blocks: 1 << 20, lanes: 1)
    #expect(PortableScrypt(huge)?.derive([1], salt: [2], count: 32, memoryBytes: .max) == nil)
  }
}
