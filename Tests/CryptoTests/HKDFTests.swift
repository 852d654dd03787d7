import LockstepCrypto
import Testing

struct HKDFTests {
  /// RFC 5869, appendix A.1.
  @Test func aShortKeyIsThePublishedOne() {
    let key = HKDF.derive(
      [UInt8](repeating: 0x0B, count: 22), salt: Array(0...0x0C), info: Array(0xF0...0xF9),
      count: 42)
    #expect(
      hexadecimal(key) == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
        + "34007208d5b887185865")
  }

  /// Appendix A.2: longer inputs, and more than two blocks.
  @Test func aLongKeyIsThePublishedOne() {
    let key = HKDF.derive(
      Array(0...0x4F), salt: Array(0x60...0xAF), info: Array(0xB0...0xFF), count: 82)
    #expect(
      hexadecimal(key) == "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
        + "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
        + "cc30c58179ec3e87c14c01d5c1f3434f1d87")
  }

  /// Appendix A.3: neither salt nor info.
  @Test func aKeyWithoutSaltIsThePublishedOne() {
    let key = HKDF.derive([UInt8](repeating: 0x0B, count: 22), salt: [], info: [], count: 42)
    #expect(
      hexadecimal(key) == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
        + "9d201395faa4b61a96c8")
  }

  @Test func theLongestKeyBeginsAsAShortOne() {
    let longest = HKDF.derive([1], salt: [2], info: [3], count: 255 * 32)
    #expect(longest.count == 255 * 32)
    #expect(Array(longest[..<40]) == HKDF.derive([1], salt: [2], info: [3], count: 40))
    #expect(HKDF.derive([1], salt: [2], info: [3], count: 0).isEmpty)
  }
}
