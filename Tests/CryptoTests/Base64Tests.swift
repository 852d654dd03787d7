import LockstepCrypto
import Testing

struct Base64Tests {
  /// RFC 4648 section 10.
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
    ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
  ])
  func textsAreThePublishedOnes(bytes: String, text: String) {
    #expect(Base64.encode(Array(bytes.utf8)) == text)
    #expect(Base64.decode(text) == Array(bytes.utf8))
  }

  @Test func urlAlphabetNeedsNoEscapeAndNoPadding() {
    #expect(Base64.encode([0xFB, 0xFF, 0xFE, 0x00]) == "+//+AA==")
    #expect(Base64.encodeURL([0xFB, 0xFF, 0xFE, 0x00]) == "-__-AA")
  }

  @Test func everyLengthComesBack() {
    for count in 0..<70 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ count) }
      #expect(Base64.decode(Base64.encode(bytes)) == bytes)
    }
  }

  @Test(arguments: [
    "Zg", "Zg=", "Z===", "====", "=", "Zg==Zg==", "Zm9v\n", "Zm-v", "Zm_v", "Zm 9", "Zé8=",
  ])
  func brokenTextIsNil(text: String) {
    #expect(Base64.decode(text) == nil)
  }

  @Test(arguments: [
    "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zg", "Z===", "====", "=", "Zg==Zg==", "Zm-v", "Zé8=",
  ])
  func theNumberOfBytesIsKnownBeforeTheyAreDecoded(text: String) {
    let digits = Array(text.utf8)[...]
    let count = Base64.decodedCount(digits.span)
    #expect(count == Base64.decode(text)?.count)
  }

  @Test func unusedBitsAreNotLookedAt() {
    #expect(Base64.decode("AQIDBAUGBwgJCgsMDQ4PEC==") == [UInt8](1...16))
  }

  @Test func everyLengthComesBackFromTheURLAlphabet() {
    for count in 0..<70 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ count) }
      #expect(Base64.decodeURL(Base64.encodeURL(bytes)) == bytes)
    }
    #expect(Base64.decodeURL("-__-AA") == [0xFB, 0xFF, 0xFE, 0x00])
  }

  @Test func noByteBesideTheAlphabetIsADigit() {
    let digits = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    for byte in UInt8.min...0x7F {
      let text = String(decoding: [UInt8(ascii: "A"), byte, 0x41, 0x41], as: UTF8.self)
      #expect((Base64.decodeURL(text) != nil) == digits.contains(byte), "\(byte)")
    }
    for last in digits {
      let text = String(decoding: [UInt8(ascii: "A"), last], as: UTF8.self)
      #expect(Base64.decodeURL(text).map { Base64.encodeURL($0) == text } ?? true, "\(text)")
    }
  }

  /// The last three have an unused bit that is set.
  @Test(arguments: [
    "A", "AAAAA", "Zg==", "Zg=", "+//+AA", "Zm9v\n", "Zm 9", "Zé", "=", ".", "Zh", "Zm9vYh", "Zm9",
  ])
  func textBesideTheURLAlphabetIsNil(text: String) {
    #expect(Base64.decodeURL(text) == nil)
  }
}
