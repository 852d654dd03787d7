import Testing

@testable import LockstepWire

struct ByteSetTests {
  /// RFC 9110 section 5.6.2.
  @Test func tokenHoldsAlphanumericsAndFifteenSigns() {
    let members = (0...255).map { UInt8($0) }.filter(ByteSet.token.contains)
    #expect(members.count == 26 + 26 + 10 + 15)
    for byte in "()<>@,;:\\\"/[]?={} \t\u{7F}".utf8 { #expect(!ByteSet.token.contains(byte)) }
  }

  /// RFC 3986 section 2.3.
  @Test func unreservedHoldsAlphanumericsAndFourSigns() {
    let members = (0...255).map { UInt8($0) }.filter(ByteSet.unreserved.contains)
    #expect(members.count == 26 + 26 + 10 + 4)
  }

  @Test func noSetHoldsBlanksControlsOrBytesAbove127() {
    let bytes = [UInt8](0...0x20) + [0x7F] + [UInt8](0x80...0xFF)
    for set in [ByteSet.token, .unreserved, .target, .registeredName] {
      #expect(!bytes.contains(where: set.contains))
    }
  }

  @Test func aTargetHoldsNoFragmentQuoteOrAngle() {
    for byte in "#\"<>\\".utf8 { #expect(!ByteSet.target.contains(byte)) }
  }

  /// Every byte, at every place among others.
  @Test func aFieldHoldsOnlyBytesOfFields() {
    var wrong: [UInt8] = []
    for byte in (0...255).map({ UInt8($0) }) {
      for count in 1...20 {
        for place in 0..<count {
          var value = [UInt8](repeating: place % 2 == 0 ? 0x20 : 0xFF, count: count)[...]
          value[place] = byte
          if value.span.isFieldContent != byte.isFieldContent { wrong.append(byte) }
        }
      }
    }
    #expect(wrong == [])
  }

  @Test func lowercasingTouchesLettersOnly() {
    let all = (0...255).map { UInt8($0) }
    let changed = all.filter { $0.lowercased != $0 }
    #expect(changed == Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8))
    #expect(UInt8(ascii: "Q").lowercased == UInt8(ascii: "q"))
  }
}
