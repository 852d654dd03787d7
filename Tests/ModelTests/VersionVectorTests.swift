import LockstepModel
import Testing

/// The order of a record's versions: devices decide by it, not by what a relay says.
struct VersionVectorTests {
  private let desk = DeviceID(rawValue: 1)
  private let phone = DeviceID(rawValue: 2)

  @Test func aVersionIncludesWhatItWasMadeOn() {
    let first = version(of: desk, on: VersionVector(), at: 100)
    let second = version(of: phone, on: first, at: 200)
    #expect(second.covers(first) && !first.covers(second))
    #expect(second.covers(second) && first.covers(VersionVector()))
  }

  @Test func versionsMadeApartIncludeNeither() {
    let base = version(of: desk, on: VersionVector(), at: 100)
    let left = version(of: desk, on: base, at: 200)
    let right = version(of: phone, on: base, at: 150)
    #expect(!left.covers(right) && !right.covers(left))
    let merged = version(of: phone, on: left.joined(with: right), at: 200)
    #expect(merged.covers(left) && merged.covers(right))
  }

  @Test func aNumberIsLaterThanAllThatAreIncluded() {
    let early = version(of: desk, on: VersionVector(), at: 1_000)
    #expect(early.nextNumber(at: 10) == 1_001)
    #expect(early.nextNumber(at: 1_000) == 1_001)
    #expect(early.nextNumber(at: 5_000) == 5_000)
    #expect(VersionVector().nextNumber(at: -7) == 1)
    let last = VersionVector().adding(desk, Limits.sequenceLimit - 1)
    #expect(last.nextNumber(at: 1) == nil)
    #expect(VersionVector().nextNumber(at: .max) == nil)
  }

  @Test func aVectorWithoutRoomKeepsTheLatestDevices() throws {
    let most = Limits.vectorEntries
    var vector = VersionVector()
    for number in 1...Int64(most + 3) {
      vector = vector.adding(DeviceID(rawValue: UInt64(1_000 - number)), number)
    }
    #expect(vector.entries.count == most)
    #expect(vector.floor == 3)
    #expect(vector[DeviceID(rawValue: 999)] == 3)
    #expect(vector[DeviceID(rawValue: 996)] == 4)
    #expect(VersionVector(bytes: vector.bytes) == vector)
  }

  @Test func joiningFollowsTheLaws() {
    var random = SeededRandom(seed: 5)
    for _ in 0..<300 {
      let (a, b, c) = (vector(&random), vector(&random), vector(&random))
      #expect(a.joined(with: b) == b.joined(with: a))
      #expect(a.joined(with: b.joined(with: c)) == a.joined(with: b).joined(with: c))
      #expect(a.joined(with: a) == a)
      #expect(a.joined(with: b).covers(a) && a.joined(with: b).covers(b))
      #expect(a.covers(b) == (a.joined(with: b) == a))
    }
  }

  @Test func onlyTheBytesOfAVectorAreRead() {
    let vector = VersionVector().adding(desk, 5).adding(phone, 7)
    #expect(VersionVector(bytes: vector.bytes) == vector)
    #expect(VersionVector(bytes: VersionVector().bytes) == VersionVector())
    for count in 0..<vector.bytes.count where count != 8 && count != 24 {
      #expect(VersionVector(bytes: vector.bytes.prefix(count)) == nil)
    }
    let bytes = vector.bytes
    #expect(VersionVector(bytes: bytes.prefix(8) + bytes.suffix(16) + bytes[8..<24]) == nil)
    #expect(VersionVector(bytes: bytes.prefix(24) + bytes[8..<24]) == nil)
    #expect(VersionVector(bytes: [0, 0, 0, 0, 0, 0, 0, 5] + bytes.dropFirst(8)) == nil)
    #expect(VersionVector(bytes: [0x80, 0, 0, 0, 0, 0, 0, 0]) == nil)
  }

  private func version(
    of device: DeviceID, on made: VersionVector, at time: Int64
  ) -> VersionVector {
    made.nextNumber(at: time).map { made.adding(device, $0) } ?? made
  }

  private func vector(_ random: inout SeededRandom) -> VersionVector {
    (0..<Int.random(in: 0...4, using: &random)).reduce(VersionVector()) { vector, _ in
      vector.adding(
        DeviceID(rawValue: .random(in: 1...5, using: &random)),
        .random(in: 1...6, using: &random))
    }
  }
}
