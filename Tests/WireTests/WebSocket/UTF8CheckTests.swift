import LockstepModel
import Testing

@testable import LockstepWire

struct UTF8CheckTests {
  /// Returns true if the bytes are a text; otherwise the index of the byte at which the check
  /// failed.
  private func check(_ bytes: [UInt8]) -> (isText: Bool, bad: Int?) {
    var check = UTF8Check()
    for (index, byte) in bytes.enumerated() {
      let isGood = [byte].withUnsafeBytes { check.accepts($0) }
      if !isGood { return (false, index) }
    }
    return (check.isComplete, nil)
  }

  private func whole(_ bytes: [UInt8]) -> Bool {
    var check = UTF8Check()
    return bytes.withUnsafeBytes { check.accepts($0) } && check.isComplete
  }

  @Test func everyScalarIsText() {
    for number in stride(from: UInt32(0), through: 0x10FFFF, by: 1) {
      guard let scalar = Unicode.Scalar(number) else { continue }
      guard number < 0x1000 || number % 97 == 0 || number & 0xFFF < 2 || number & 0xFFF > 0xFFD
      else { continue }
      #expect(check(Array(String(Character(scalar)).utf8)).isText)
    }
  }

  @Test(arguments: [
    ([0x80], 0), ([0xBF], 0), ([0xC0], 0), ([0xC1], 0), ([0xF5], 0), ([0xFF], 0),
    ([0xC2, 0x41], 1), ([0xE0, 0x9F], 1), ([0xE0, 0x80, 0x80], 1), ([0xED, 0xA0], 1),
    ([0xED, 0xBF, 0xBF], 1), ([0xF0, 0x8F], 1), ([0xF4, 0x90], 1), ([0xF1, 0x80, 0x80, 0x20], 3),
    ([0xE1, 0x80, 0xC0], 2), ([0x41, 0x42, 0xF8], 2), ([0xE0, 0xA0, 0x80, 0x80], 3),
  ])
  func badBytesAreSeenAtOnce(bytes: [UInt8], index: Int) {
    #expect(check(bytes).bad == index)
    #expect(!whole(bytes))
  }

  @Test func unfinishedCharactersAreNoText() {
    for text in ["é", "日", "😀"] {
      for count in 1..<text.utf8.count {
        #expect(check(Array(text.utf8.prefix(count))).bad == nil)
        #expect(!check(Array(text.utf8.prefix(count))).isText)
      }
    }
  }

  @Test func itAgreesWithTheStandardLibrary() {
    var random = SeededRandom(seed: 10)
    let text = Array("plain text, long enough for words: äöü 日本 😀 \u{10FFFF} end".utf8)
    for _ in 0..<20_000 {
      var bytes = text
      for _ in 0..<Int.random(in: 0...2, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] =
          UInt8.random(in: 0...255, using: &random)
      }
      let expected = String(validating: bytes, as: UTF8.self) != nil
      #expect(whole(bytes) == expected)
      #expect(check(bytes).isText == expected)
    }
  }
}
