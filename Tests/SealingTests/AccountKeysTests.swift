import LockstepCrypto
import Testing

@testable import LockstepSealing

struct AccountKeysTests {
  private let first = generation(1)
  private let second = generation(2)

  @Test func aKeyIsNotInItsDescription() {
    var text = ""
    dump(first, to: &text)
    dump(AccountKeys(nameSecret: first.secret, generations: [first]), to: &text)
    text += "\(first) \(String(reflecting: first))"
    #expect(!text.contains("[1, 1"))
    #expect(!text.contains("- 1\n"))
    #expect(text.contains(first.id))
  }

  @Test func keysOfAnotherFormAreRefused() {
    #expect(KeyGeneration(secret: []) == nil)
    #expect(KeyGeneration(secret: [UInt8](repeating: 0, count: 33)) == nil)
    #expect(AccountKeys(nameSecret: [], generations: [first]) == nil)
    #expect(AccountKeys(nameSecret: first.secret, generations: []) == nil)
    #expect(AccountKeys(nameSecret: first.secret, generations: [first, first]) == nil)
    let many = (0...64).map { generation(UInt8($0)) }
    #expect(AccountKeys(nameSecret: first.secret, generations: many) == nil)
    #expect(AccountKeys(nameSecret: first.secret, generations: Array(many.prefix(64))) != nil)
  }

  @Test func checkWordsAreAlikeOnlyForOneKey() {
    #expect(first.checkWords == generation(1).checkWords)
    #expect(first.checkWords != second.checkWords)
    #expect(first.checkWords.split(separator: " ").count == 6)
  }

  @Test func aPhraseGivesTheKeyBack() throws {
    let phrase = KeyPhrase.text(of: first)
    #expect(phrase.split(separator: " ").count == KeyPhrase.wordCount)
    #expect(try KeyPhrase.generation(from: phrase) == first)
    #expect(
      try KeyPhrase.generation(
        from: phrase.uppercased().split(separator: " ").joined(separator: ", "))
        == first)
  }

  @Test func aSlipIsNamed() {
    let words = KeyPhrase.text(of: first).split(separator: " ").map(String.init)
    #expect(fault([]) == .letters(0))
    #expect(fault(words.dropLast()) == .letters(80))
    #expect(fault(words[..<4] + ["bocan"] + words[5...]) == .word(5))
    #expect(fault(["babab"] + words[1...]) == .checksum)
    #expect(fault(words) == nil)
  }

  private func fault(_ words: some Collection<String>) -> KeyPhrase.Fault? {
    do throws(KeyPhrase.Fault) {
      _ = try KeyPhrase.generation(from: words.joined(separator: " "))
      return nil
    } catch {
      return error
    }
  }
}

private func generation(_ number: UInt8) -> KeyGeneration {
  guard let generation = KeyGeneration(secret: [UInt8](repeating: number, count: 32)) else {
    preconditionFailure("a secret has 32 bytes")
  }
  return generation
}
