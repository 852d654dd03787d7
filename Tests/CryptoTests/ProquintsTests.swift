import LockstepCrypto
import Testing

struct ProquintsTests {
  /// Examples of the paper: 127.0.0.1, 63.84.220.193, 140.98.193.141. 255.255.255.255 is not among
  /// them.
  @Test(arguments: [
    (0x7F00, "lusab"), (0x0001, "babad"), (0x3F54, "gutih"), (0xDCC1, "tugad"), (0x8C62, "mudof"),
    (0xC18D, "sakat"), (0xFFFF, "zuzuz"),
  ])
  func wordsAreThoseOfThePaper(number: Int, word: String) {
    #expect(Proquints.word(UInt16(number)) == word)
    #expect(Proquints.number(word.utf8) == UInt16(number))
  }

  @Test func everyWordComesBack() {
    for number in UInt16.min...UInt16.max {
      #expect(Proquints.number(Array(Proquints.word(number).utf8)) == number)
    }
  }

  @Test(arguments: ["", "lusa", "lusabb", "ulsab", "lusax", "lusac"])
  func otherLettersAreNoWord(word: String) { #expect(Proquints.number(word.utf8) == nil) }
}
