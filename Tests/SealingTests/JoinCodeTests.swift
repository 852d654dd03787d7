import Testing

@testable import LockstepSealing

struct JoinCodeTests {
  private let secret = JoinSecret(word: 0x0FED_CBA9_8765_4321)

  @Test func aCodeOfTwoPartsComesBack() throws {
    let code = try #require(JoinCode(offer: "7Q2M-0XKD-9RTA", secret: secret))
    #expect(code.text.hasPrefix("7Q2M-0XKD-9RTA-") && code.text.utf8.count == 29)
    for typed in [
      code.text, code.text.lowercased(), " \(code.text)\n", code.text.filter { $0 != "-" },
    ] {
      let read = try #require(JoinCode(typed: typed))
      #expect(read == code)
      #expect(read.relayPart == "7Q2M-0XKD-9RTA")
    }
  }

  @Test func lettersThatLookAlikeAreOne() throws {
    let code = try #require(JoinCode(typed: "OOOO-IIII-LLLL-oooo-iiii-llll"))
    #expect(code.text == "0000-1111-1111-0000-1111-1111")
  }

  /// Input that may be a relay code is passed to the relay as typed; the relay validates it.
  @Test(arguments: ["", "AAAA-BBBB-CCCC", " aaaa bbbb cccc", "7Q2M", "UUUU-UUUU-UUUU"])
  func theRelaysPartIsNotTouched(typed: String) throws {
    let code = try #require(JoinCode(typed: typed))
    #expect(code.relayPart == typed && code.secret == nil)
    #expect(code.text == typed)
  }

  /// The input may contain part of a secret.
  @Test(arguments: [
    "7Q2M-0XKD-9RTA-C", "7Q2M-0XKD-9RTA-C4VH-1EZB-83N", "7Q2M-0XKD-9RTA-C4VH-1EZB-83NWX",
    "7Q2M-0XKD-9RTA-C4VH-1EZB-83NU", "7Q2M-0XKD-9RTA-C4VH-1EZB-83Né",
  ])
  func whatIsLongerAndNoCodeIsNotSent(typed: String) {
    #expect(JoinCode(typed: typed) == nil)
  }

  @Test func anOfferOfAnotherFormMakesNoCode() {
    #expect(JoinCode(offer: "another form of code", secret: secret) == nil)
  }

  @Test func everyBitOfASecretCounts() {
    let secrets = (0..<60).map { JoinSecret(word: 1 << UInt64($0)).text }
    #expect(Set(secrets).count == 60)
    #expect(JoinSecret(word: 0).text == "0000-0000-0000")
  }

  @Test func noLogTellsASecret() throws {
    let code = try #require(JoinCode(offer: "7Q2M-0XKD-9RTA", secret: secret))
    var dumped = ""
    dump(code, to: &dumped)
    for text in ["\(code)", String(reflecting: code), dumped] {
      #expect(!text.contains(secret.text) && !text.contains("\(secret.letters)"))
    }
  }
}
