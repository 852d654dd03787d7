import LockstepModel
import Testing

@testable import LockstepApps

struct VaultKeyTests {
  private let key = VaultKey(bytes: Array(0..<16))

  @Test func aKeyHasSixteenBytes() {
    #expect(VaultKey(bytes: Array(0..<15)) == nil && VaultKey(bytes: Array(0...16)) == nil)
    #expect(key?.bytes == Array(0..<16))
  }

  /// Values derived by Python's `cryptography`: other programs must derive the same.
  @Test func whatFollowsFromAKeyStaysTheSame() throws {
    let key = try #require(key)
    #expect(key.id == "b5042643d3ecb49c")
    #expect(
      HexText.text(of: key.derived("piece", 64))
        == "fa145f29748591d2ec4884d3ae36b6373ff1649d0557fd6d8396837b3d3696b0"
        + "723db764181d9c5685fd87212bd7134866fbfafd85da47b605e4225a550eaef0"
    )
    #expect(VaultSeal(key).chunkSeed == 0x5678_D00C_1DFC_23F1)
    #expect(
      VaultSeal(key).recordName(of: "vault.db")?.text
        == "9ae1f8170cb87d796a90421d9def49b2eb76c708377eb6985bbac0126b627712")
  }

  @Test func noLogTellsAKey() throws {
    let key = try #require(key)
    var dumped = ""
    dump(key, to: &dumped)
    for text in ["\(key)", "\([key])", String(reflecting: key), dumped] {
      #expect(!text.contains("1, 2, 3") && !text.contains("01") && text.contains(key.id))
    }
  }
}
