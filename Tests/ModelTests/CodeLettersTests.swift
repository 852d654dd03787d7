import Testing

@testable import LockstepModel

struct CodeLettersTests {
  @Test func aCodeIsDrawnAndGroupedByFour() {
    #expect(CodeLetters.grouped(CodeLetters.symbols(from: 0)) == "0000-0000-0000")
    #expect(CodeLetters.grouped(CodeLetters.symbols(from: .max)) == "ZZZZ-ZZZZ-ZZZZ")
    #expect(CodeLetters.grouped(CodeLetters.symbols(from: 0x1F << 55 | 1)) == "1000-0000-000Z")
  }

  @Test func slipsCountAsWhatWasMeant() {
    let meant = "oOiIlLaZ9".utf8.compactMap { CodeLetters.symbol(for: $0) }
    #expect(String(decoding: meant, as: UTF8.self) == "001111AZ9")
    #expect("uU-_!".utf8.allSatisfy { CodeLetters.symbol(for: $0) == nil })
    #expect(CodeLetters.symbol(for: 0xC3) == nil)
  }
}
