import Testing

@testable import LockstepModel

@Suite struct SeededRandomTests {
  @Test func sequenceFollowsFromTheSeed() {
    var one = SeededRandom(seed: 7)
    var same = SeededRandom(seed: 7)
    var other = SeededRandom(seed: 8)
    let drawn = (0..<100).map { _ in one.next() }
    #expect(drawn == (0..<100).map { _ in same.next() })
    #expect(drawn != (0..<100).map { _ in other.next() })
    #expect(Set(drawn).count == 100)
  }

  @Test func sequenceIsTheAlgorithmsOwn() {
    // From an independent implementation of SplitMix64 and xoshiro256**, seed 42. It must never
    // change: a seed that found a fault must find it again.
    var random = SeededRandom(seed: 42)
    #expect((0..<4).map { _ in random.next() } == SeededRandomTests.seed42)
  }

  @Test func branchDoesNotMoveTheOthers() {
    var one = SeededRandom(seed: 7)
    var other = SeededRandom(seed: 7)
    var branch = one.branch()
    _ = other.branch()
    for _ in 0..<10 { _ = branch.next() }
    #expect(one.next() == other.next())
  }

  @Test func secretWordIsMadeOfEightBytes() {
    let secrets = SecretSource { count in (1...count).map { UInt8($0) } }
    #expect(secrets.bytes(3) == [1, 2, 3])
    #expect(secrets.word() == 0x0102_0304_0506_0708)
  }

  static let seed42: [UInt64] = [
    0x1578_0B2E_0C2E_C716, 0x6104_D986_6D11_3A7E, 0xAE17_5332_39E4_99A1, 0xECB8_AD47_03B3_60A1,
  ]
}
