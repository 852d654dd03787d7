import LockstepCrypto
import Testing

struct ScryptTests {
  private let memory = 64 << 20

  /// RFC 7914, section 12.
  @Test func keysAreThePublishedOnes() throws {
    let nothing = Scrypt(cost: 16, blocks: 1, lanes: 1)
    #expect(
      hexadecimal(try #require(nothing.derive([], salt: [], count: 64, memoryBytes: memory)))
        == "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"
        + "fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906")
    let salted = Scrypt(cost: 1_024, blocks: 8, lanes: 16)
    let key = salted.derive(
      Array("password".utf8), salt: Array("NaCl".utf8), count: 64, memoryBytes: memory)
    #expect(
      hexadecimal(try #require(key))
        == "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
        + "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640")
  }

  @Test func whatTakesMoreMemoryIsNotDone() {
    let large = Scrypt(cost: 1 << 16, blocks: 8, lanes: 1)
    #expect(large.derive([1], salt: [], count: 64, memoryBytes: memory) == nil)
    #expect(large.derive([1], salt: [], count: 64, memoryBytes: 2 * memory) != nil)
  }

  @Test(arguments: [(0, 8, 1), (3, 8, 1), (1, 8, 1), (-16, 8, 1), (16, 0, 1), (16, 8, -1)])
  func whatScryptDoesNotKnowIsNotDone(cost: Int, blocks: Int, lanes: Int) {
    let scrypt = Scrypt(cost: cost, blocks: blocks, lanes: lanes)
    #expect(scrypt.derive([1], salt: [], count: 64, memoryBytes: memory) == nil)
  }
}
