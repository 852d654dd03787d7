import LockstepModel
import Testing

/// The order of a record's versions: devices decide by it, not by what a relay says.
struct VersionVectorTests {
  private let desk = WriterID(rawValue: 1)
  private let phone = WriterID(rawValue: 2)

  @Test func aVersionIncludesWhatItWasMadeOn() throws {
    let first = try version(desk, 100)
    let second = try version(phone, 200, on: first)
    let third = try version(desk, 300, on: second)
    #expect(second.includes(first) && !first.includes(second))
    #expect(third.includes(first) && third.includes(second))
    #expect(second.includes(second))
  }

  @Test func versionsMadeApartIncludeNeither() throws {
    let base = try version(desk, 100)
    let left = try version(desk, 200, on: base)
    let right = try version(phone, 150, on: base)
    #expect(!left.includes(right) && !right.includes(left))
    let merged = try version(phone, 200, on: left, right)
    #expect(merged.includes(left) && merged.includes(right))
  }

  /// A home that was set back makes two versions on one, and has a greater number for the second.
  @Test func aGreaterNumberOfTheSameWriterDoesNotInclude() throws {
    let base = try version(desk, 100)
    let forgotten = try version(desk, 200, on: base)
    let second = try version(desk, 300, on: base)
    #expect(!second.includes(forgotten) && !forgotten.includes(second))
    #expect(second.includes(base))
  }

  @Test func aNumberIsGreaterThanThatOfEachFormerVersionOfItsWriter() throws {
    let first = try version(desk, 100)
    for number: Int64 in [0, 99, 100, Limits.sequenceLimit] {
      let id = VersionID(writer: desk, number: number)
      #expect(RecordVersion(id, madeOn: first.vector) == nil)
    }
    #expect(RecordVersion(VersionID(writer: phone, number: 1), madeOn: first.vector) != nil)
  }

  @Test func aVectorWithoutRoomKeepsTheLatestWriters() throws {
    let most = Limits.vectorEntries
    var vector = VersionVector()
    for number in 1...Int64(most + 3) {
      vector = vector.adding(id(WriterID(rawValue: UInt64(1_000 - number)), number))
    }
    #expect(vector.entries.count == most)
    #expect(vector.floor == 3)
    #expect(vector[WriterID(rawValue: 999)] == 3)
    #expect(vector[WriterID(rawValue: 996)] == 4)
    #expect(vector.names(id(WriterID(rawValue: 996), 4)) && vector.greatest == Int64(most + 3))
    #expect(!vector.names(id(WriterID(rawValue: 999), 3)))
    #expect(VersionVector(bytes: vector.bytes[...]) == vector)
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
    let vector = VersionVector().adding(id(desk, 5)).adding(id(phone, 7))
    #expect(VersionVector(bytes: vector.bytes[...]) == vector)
    #expect(VersionVector(bytes: VersionVector().bytes[...]) == VersionVector())
    for count in 0..<vector.bytes.count where count != 8 && count != 24 {
      #expect(VersionVector(bytes: vector.bytes.prefix(count)) == nil)
    }
    let bytes = vector.bytes
    #expect(VersionVector(bytes: bytes.prefix(8) + bytes.suffix(16) + bytes[8..<24]) == nil)
    #expect(VersionVector(bytes: bytes.prefix(24) + bytes[8..<24]) == nil)
    #expect(VersionVector(bytes: ([0, 0, 0, 0, 0, 0, 0, 5] + bytes.dropFirst(8))[...]) == nil)
    #expect(VersionVector(bytes: [0x80, 0, 0, 0, 0, 0, 0, 0]) == nil)
  }

  @Test func onlyTheBytesOfAVersionAreRead() throws {
    let version = try version(desk, 9, on: version(phone, 7))
    #expect(RecordVersion(bytes: version.bytes[...]) == version)
    for count in 0..<version.bytes.count where count != 24 {
      #expect(RecordVersion(bytes: version.bytes.prefix(count)) == nil)
    }
    #expect(RecordVersion(bytes: (version.bytes + [0])[...]) == nil)
    let former = id(phone, 7).bytes + version.made.bytes
    #expect(RecordVersion(bytes: former[...]) == nil)
  }

  private func id(_ writer: WriterID, _ number: Int64) -> VersionID {
    VersionID(writer: writer, number: number)
  }

  private func version(_ writer: WriterID, _ number: Int64, on made: RecordVersion...) throws
    -> RecordVersion
  {
    let vector = made.reduce(VersionVector()) { $0.joined(with: $1.vector) }
    return try #require(RecordVersion(id(writer, number), madeOn: vector))
  }

  private func vector(_ random: inout SeededRandom) -> VersionVector {
    (0..<Int.random(in: 0...4, using: &random)).reduce(VersionVector()) { vector, _ in
      vector.adding(
        id(
          WriterID(rawValue: .random(in: 1...5, using: &random)),
          .random(in: 1...6, using: &random)))
    }
  }
}
