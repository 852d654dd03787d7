import LockstepCrypto
import Testing

struct SIVTests {
  private let siv = SIV(key: Array(0..<64))

  /// RFC 5297 has examples only for keys of 32 bytes. These were made with another program
  /// (Python's `cryptography`, `AESSIV`) and the key 00, 01, … 3f.
  @Test(arguments: [
    (Array("a".utf8), Array("piece".utf8), "8a9636f6b48773d55f9585a4406d7730ad"),
    (
      Array("lockstep vault!!".utf8), Array("x".utf8),
      "93970fe18ee5576d1c4866e2eda8755132602c755909497477bbb24f4c0fd59c"
    ),
    (
      [UInt8](repeating: 0, count: 33), [UInt8](repeating: 0xFF, count: 20),
      "54786ea7e56d4518496f8ad04e8bded48a365d68acc002612f2b7f56e6deca62c0c8d76409c096ab57e7325e"
        + "8bf86864db"
    ),
  ])
  func sealsAreThoseOfOtherPrograms(bytes: [UInt8], data: [UInt8], sealed: String) {
    #expect(hexadecimal(siv.sealed(bytes, data: data)) == sealed)
    #expect(siv.opened(siv.sealed(bytes, data: data), data: data) == bytes)
  }

  @Test func aLargeSealIsThatOfAnotherProgram() {
    let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
    let sealed = siv.sealed(bytes, data: Array("piece".utf8))
    #expect(
      hexadecimal(SHA256.hash(sealed))
        == "e56f2d67ed395cdcbd284792ede5d03188afb5e61ffb01bea2abdb1bae633382")
    #expect(siv.opened(sealed, data: Array("piece".utf8)) == bytes)
  }

  @Test func everyFlippedBitIsRefused() {
    let sealed = siv.sealed(Array("seventeen letters".utf8), data: [1, 2])
    for index in sealed.indices {
      for bit in UInt8(0)..<8 {
        var broken = sealed
        broken[index] ^= 1 << bit
        #expect(siv.opened(broken, data: [1, 2]) == nil, "byte \(index), bit \(bit)")
      }
    }
  }

  @Test func anotherKeyAndOtherDataOpenNothing() {
    let sealed = siv.sealed([1, 2, 3], data: [4])
    #expect(SIV(key: Array(1...64)).opened(sealed, data: [4]) == nil)
    #expect(siv.opened(sealed, data: [5]) == nil)
    #expect(siv.opened(sealed, data: []) == nil)
    #expect(siv.opened(sealed, data: [4]) == [1, 2, 3])
  }

  @Test func whatIsCutOffOrLongerIsRefused() {
    let sealed = siv.sealed([1, 2, 3], data: [])
    for count in 0..<sealed.count { #expect(siv.opened(Array(sealed[..<count]), data: []) == nil) }
    #expect(siv.opened(sealed + [0], data: []) == nil)
    #expect(siv.opened(sealed, data: []) == [1, 2, 3])
  }
}
