import LockstepCrypto
import LockstepModel
import Testing

@testable import LockstepApps

struct VaultCodeTests {
  private let secret = VaultSecret(word: 0x0FED_CBA9_8765_4321)

  @Test func aCodeOfTwoPartsComesBack() throws {
    let code = try #require(VaultCode(offer: "7Q2M-0XKD-9RTA", secret: secret))
    #expect(code.text.hasPrefix("7Q2M-0XKD-9RTA-") && code.text.utf8.count == 29)
    for typed in [
      code.text, code.text.lowercased(), " \(code.text)\n", code.text.filter { $0 != "-" },
    ] {
      let read = try #require(VaultCode(typed: typed))
      #expect(read == code)
      #expect(read.relayPart == "7Q2M-0XKD-9RTA")
    }
  }

  @Test func lettersThatLookAlikeAreOne() throws {
    let code = try #require(VaultCode(typed: "OOOO-IIII-LLLL-oooo-iiii-llll"))
    #expect(code.text == "0000-1111-1111-0000-1111-1111")
  }

  /// Input that may be a relay code is passed to the relay as typed; the relay validates it.
  @Test(arguments: ["", "AAAA-BBBB-CCCC", " aaaa bbbb cccc", "7Q2M", "UUUU-UUUU-UUUU"])
  func theRelaysPartIsNotTouched(typed: String) throws {
    let code = try #require(VaultCode(typed: typed))
    #expect(code.relayPart == typed && code.secret == nil && code.recordName == nil)
    #expect(code.text == typed)
  }

  /// The input may contain part of a secret.
  @Test(arguments: [
    "7Q2M-0XKD-9RTA-C", "7Q2M-0XKD-9RTA-C4VH-1EZB-83N", "7Q2M-0XKD-9RTA-C4VH-1EZB-83NWX",
    "7Q2M-0XKD-9RTA-C4VH-1EZB-83NU", "7Q2M-0XKD-9RTA-C4VH-1EZB-83Né",
  ])
  func whatIsLongerAndNoCodeIsNotSent(typed: String) {
    #expect(VaultCode(typed: typed) == nil)
  }

  @Test func theRecordFollowsFromTheRelaysPartAlone() throws {
    let code = try #require(VaultCode(offer: "7q2m 0XKD-9RTA", secret: secret))
    let hash = HexText.text(of: Array(SHA256.hash(Array("7Q2M0XKD9RTA".utf8)).prefix(16)))
    #expect(code.recordName?.text == "code/" + hash)
    let other = try #require(VaultCode(offer: "7Q2M-0XKD-9RTA", secret: VaultSecret(word: 1)))
    #expect(other.recordName == code.recordName && other != code)
    #expect(VaultCode(offer: "another form of code", secret: secret) == nil)
  }

  @Test func everyBitOfASecretCounts() {
    let secrets = (0..<60).map { VaultSecret(word: 1 << UInt64($0)).text }
    #expect(Set(secrets).count == 60)
    #expect(VaultSecret(word: 0).text == "0000-0000-0000")
  }

  @Test func noLogTellsASecret() throws {
    let code = try #require(VaultCode(offer: "7Q2M-0XKD-9RTA", secret: secret))
    var dumped = ""
    dump(code, to: &dumped)
    for text in ["\(code)", String(reflecting: code), dumped] {
      #expect(!text.contains(secret.text) && !text.contains("\(secret.letters)"))
    }
  }
}
