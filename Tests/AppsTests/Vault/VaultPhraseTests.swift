import LockstepModel
import Testing

@testable import LockstepApps

struct VaultPhraseTests {
  private let phrase = "babad bamag bibaj bimal boban bomar bubat bumaz nihop"

  @Test func aPhraseStaysTheSame() throws {
    let key = try #require(VaultKey(bytes: Array(0..<16)))
    #expect(VaultPhrase.text(of: key) == phrase)
    #expect(try VaultPhrase.key(from: phrase) == key)
  }

  @Test(arguments: [
    "BABAD-bamag-bibaj-bimal-boban-bomar-bubat-bumaz-nihop",
    " babadbamagbibajbimalbobanbomarbubatbumaznihop\n",
    "1. babad 2. bamag 3. bibaj, bimal; boban bomar\nbubat bumaz Nihop.",
  ])
  func howItIsWrittenPlaysNoPart(text: String) throws {
    #expect(try VaultPhrase.key(from: text).bytes == Array(0..<16))
  }

  @Test func aSlipIsNamed() {
    func fault(_ text: String) -> VaultPhrase.Fault? {
      do throws(VaultPhrase.Fault) {
        _ = try VaultPhrase.key(from: text)
        return nil
      } catch {
        return error
      }
    }
    #expect(fault("") == .letters(0))
    #expect(fault(phrase + "s") == .letters(46))
    #expect(fault(String(phrase.dropLast(6))) == .letters(40))
    let words = phrase.split(separator: " ").map(String.init)
    #expect(fault((words[..<4] + ["bocan"] + words[5...]).joined(separator: " ")) == .word(5))
    #expect(fault((["bamag", "babad"] + words[2...]).joined(separator: " ")) == .checksum)
    #expect(fault((["babab"] + words[1...]).joined(separator: " ")) == .checksum)
    #expect(fault(phrase) == nil)
  }
}
