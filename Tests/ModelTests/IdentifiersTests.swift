import Testing

@testable import LockstepModel

@Suite struct IdentifiersTests {
  @Test func accountsAndDevicesHaveSixteenDigits() {
    for (value, text) in [
      (0, "0000000000000000"), (0xAB, "00000000000000ab"), (UInt64.max, "ffffffffffffffff"),
    ] {
      #expect(AccountID(rawValue: value).text == text)
      #expect(DeviceID(rawValue: value).text == text)
      #expect(AccountID(text: text) == AccountID(rawValue: value))
      #expect(DeviceID(text: text.uppercased()) == DeviceID(rawValue: value))
    }
  }

  @Test(arguments: [
    "", "0", "000000000000000", "00000000000000000", "000000000000000g", "-000000000000001",
    "0x00000000000001", "00000000 0000001", "０000000000000000",
  ]) func textThatIsNoIdIsRefused(_ text: String) {
    #expect(AccountID(text: text) == nil)
    #expect(DeviceID(text: text) == nil)
  }

  @Test func orderOfNumbersIsTheOrderOfTexts() {
    var random = SeededRandom(seed: 1)
    for _ in 0..<200 {
      let left = DeviceID(rawValue: random.next() >> (random.next() % 64))
      let right = DeviceID(rawValue: random.next() >> (random.next() % 64))
      #expect((left < right) == left.text.utf8.lexicographicallyPrecedes(right.text.utf8))
    }
  }

  @Test func batchIDIsARandomUUID() {
    var random = SeededRandom(seed: 2)
    for _ in 0..<200 {
      let id = BatchID(random: &random)
      let text = Array(id.text)
      #expect(text.count == 36)
      #expect(text[14] == "4")
      #expect("89ab".contains(text[19]))
      #expect(BatchID(text: id.text) == id)
      #expect(BatchID(text: id.text.uppercased()) == id)
    }
  }

  @Test func batchIDKeepsEveryBit() throws {
    let id = try #require(BatchID(text: "00112233-4455-6677-8899-aabbccddeeff"))
    #expect(id == BatchID(high: 0x0011_2233_4455_6677, low: 0x8899_AABB_CCDD_EEFF))
    #expect(id.text == "00112233-4455-6677-8899-aabbccddeeff")
  }

  @Test(arguments: [
    "", "00112233-4455-6677-8899-aabbccddeef", "00112233-4455-6677-8899-aabbccddeefff",
    "001122334455-6677-8899-aabbccddeeff-", "00112233-4455-6677-8899_aabbccddeeff",
    "0011223-34455-6677-8899-aabbccddeeff", "00112233-4455-6677-8899-aabbccddeegf",
    "{0112233-4455-6677-8899-aabbccddeef}", "00112233445566778899aabbccddeeff",
  ]) func textThatIsNoUUIDIsRefused(_ text: String) {
    #expect(BatchID(text: text) == nil)
  }

  @Test func bytesAreTwoDigitsEach() {
    #expect(HexText.text(of: [0, 1, 0xAB, 0xFF]) == "0001abff")
    #expect(HexText.bytes(of: "0001ABff") == [0, 1, 0xAB, 0xFF])
    #expect(HexText.bytes(of: "") == [])
    for text in ["0", "0g", "00 1", "é0"] { #expect(HexText.bytes(of: text) == nil) }
  }
}
