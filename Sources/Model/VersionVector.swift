/// A home as the author of versions of sealed records: 64 random bits that the home draws itself.
/// The relay's device ids would not do: a relay can give two devices one id, and a home that was
/// set back to a former state keeps its id.
@usableFromInline
package struct WriterID: Hashable, Comparable, Sendable {
  @usableFromInline package let rawValue: UInt64

  @usableFromInline package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// The relay, for versions of a record that are not sealed: its tags are their numbers.
  package static let relay = WriterID(rawValue: 0)

  /// Returns nil if these are not sixteen hexadecimal digits.
  package init?(text: String) {
    guard let value = HexText.parse(text) else { return nil }
    rawValue = value
  }

  /// Sixteen lowercase hexadecimal digits.
  package var text: String { HexText.text(rawValue) }

  @usableFromInline
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Identifier of one version of a sealed record.
@usableFromInline
package struct VersionID: Hashable, Sendable {
  @usableFromInline package let writer: WriterID
  /// Greater than every number that its writer gave before, and than all that the version was made
  /// on; below `Limits.sequenceLimit`, so that it stays exact in JavaScript.
  @usableFromInline package let number: Int64

  @usableFromInline
  package init(writer: WriterID, number: Int64) {
    self.writer = writer
    self.number = number
  }
}

/// A set of versions of a record: for each writer, its newest version and all former ones.
@usableFromInline
package struct VersionVector: Hashable, Sendable {
  /// In the order of writers, each once, with numbers greater than `floor`; at most
  /// `Limits.vectorEntries`.
  @usableFromInline package private(set) var entries: [VersionID] = []
  /// Number of every writer that has no entry: 0 until more homes have written the record than
  /// there are entries.
  @usableFromInline package private(set) var floor: Int64 = 0

  /// A vector that includes nothing.
  package init() {}

  /// Returns nil if the entries are not as `entries` demands.
  package init?(entries: [VersionID], floor: Int64) {
    guard (0..<Limits.sequenceLimit).contains(floor), entries.count <= Limits.vectorEntries,
      zip(entries, entries.dropFirst()).allSatisfy({ $0.writer < $1.writer }),
      entries.allSatisfy({ $0.number > floor && $0.number < Limits.sequenceLimit })
    else { return nil }
    self.entries = entries
    self.floor = floor
  }

  package subscript(_ writer: WriterID) -> Int64 {
    let index = entries.lowerBound { $0.writer < writer }
    guard index < entries.count, entries[index].writer == writer else { return floor }
    return entries[index].number
  }

  /// True if the other vector's versions are among those of this one.
  package func covers(_ other: VersionVector) -> Bool {
    other.floor <= floor && other.entries.allSatisfy { self[$0.writer] >= $0.number }
  }

  /// True if an entry includes the version, and not the floor alone, which is a guess.
  package func names(_ id: VersionID) -> Bool {
    self[id.writer] > floor && self[id.writer] >= id.number
  }

  /// Greatest number of all included versions.
  package var greatest: Int64 { entries.reduce(floor) { max($0, $1.number) } }

  /// Returns the vector that includes what both include.
  package func joined(with other: VersionVector) -> VersionVector {
    var joined = VersionVector()
    joined.floor = max(floor, other.floor)
    let writers = Set(entries.map(\.writer)).union(other.entries.map(\.writer)).sorted()
    for writer in writers {
      let number = max(self[writer], other[writer])
      if number > joined.floor {
        joined.entries.append(VersionID(writer: writer, number: number))
      }
    }
    joined.makeRoom()
    return joined
  }

  /// Returns the vector that includes this version as well.
  package func adding(_ id: VersionID) -> VersionVector {
    var added = VersionVector()
    added.entries = [id]
    return joined(with: added)
  }

  /// Returns the vector with this number for the writer's versions, or with the floor if that is
  /// greater.
  package func setting(_ writer: WriterID, to number: Int64) -> VersionVector {
    var other = self
    other.entries.removeAll { $0.writer == writer }
    return number > floor ? other.adding(VersionID(writer: writer, number: number)) : other
  }

  /// Removes the smallest numbers if there are too many entries. Every writer is then taken to have
  /// been seen up to the greatest of them.
  private mutating func makeRoom() {
    guard entries.count > Limits.vectorEntries else { return }
    let numbers = entries.map(\.number).sorted()
    floor = numbers[entries.count - Limits.vectorEntries - 1]
    entries.removeAll { $0.number <= floor }
  }
}

/// One version of a sealed record, and those that it was made on: a dotted version vector
/// (Preguiça and others, "Dotted Version Vectors: Logical Clocks for Optimistic Replication",
/// 2010). A home computes it and seals it into the record, so that no relay can make one version
/// follow another. A version that is saved again, by any device, keeps it.
@usableFromInline
package struct RecordVersion: Hashable, Sendable {
  @usableFromInline package let id: VersionID
  /// The versions that it was made on, without itself.
  @usableFromInline package let made: VersionVector

  /// Returns nil if the number is not greater than that of its writer's versions in `made`.
  package init?(_ id: VersionID, madeOn made: VersionVector) {
    guard id.number > made[id.writer], id.number < Limits.sequenceLimit else { return nil }
    self.id = id
    self.made = made
  }

  /// Version that a plain record has at this tag, in a zone that is sealed from now on. It includes
  /// all with smaller tags: the relay has saved each only over the one before. nil: the relay has
  /// no record.
  package static func plain(_ tag: ChangeTag) -> RecordVersion? {
    var made = VersionVector()
    if tag > 1 { made = made.adding(VersionID(writer: .relay, number: tag - 1)) }
    return tag > 0 ? RecordVersion(VersionID(writer: .relay, number: tag), madeOn: made) : nil
  }

  /// Vector of all that it includes, and itself.
  package var vector: VersionVector { made.adding(id) }

  /// True if the other version is this one, or one that it was made on. A greater number of the
  /// same writer alone does not make it follow: a home that was set back has made both on a third
  /// one.
  package func includes(_ other: RecordVersion) -> Bool {
    self == other || made.covers(other.vector)
  }
}

/// The binary forms; numbers have their most significant byte first.
extension VersionVector {
  /// The floor in 8 bytes, then 16 for each entry: its writer and its number.
  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(8 + VersionID.byteCount * entries.count)
    bytes.append(word: UInt64(bitPattern: floor))
    for entry in entries { bytes += entry.bytes }
    return bytes
  }

  /// Returns nil if these are not the `bytes` of a vector.
  package init?(bytes: ArraySlice<UInt8>) {
    var reader = ByteReader(bytes)
    guard let floor = reader.word() else { return nil }
    self.init(&reader, entries: reader.rest.count / VersionID.byteCount, floor: floor)
    guard reader.isAtEnd else { return nil }
  }

  /// Reads so many entries. Returns nil if they are not those of a vector of this floor.
  package init?(_ reader: inout ByteReader, entries count: Int, floor: UInt64) {
    var entries: [VersionID] = []
    for _ in 0..<min(count, Limits.vectorEntries + 1) {
      guard let entry = VersionID(&reader) else { return nil }
      entries.append(entry)
    }
    self.init(entries: entries, floor: Int64(bitPattern: floor))
  }
}

extension VersionID {
  /// Number of its `bytes`.
  package static let byteCount = 16

  /// The writer and the number in 8 bytes each.
  package var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(VersionID.byteCount)
    bytes.append(word: writer.rawValue)
    bytes.append(word: UInt64(bitPattern: number))
    return bytes
  }

  /// Returns nil if there are not enough bytes. Any number is read.
  package init?(_ reader: inout ByteReader) {
    guard let writer = reader.word(), let number = reader.word() else { return nil }
    self.init(writer: WriterID(rawValue: writer), number: Int64(bitPattern: number))
  }
}

extension RecordVersion {
  /// The `bytes` of its id, then those of `made`.
  package var bytes: [UInt8] { id.bytes + made.bytes }

  /// Returns nil if these are not the `bytes` of a version.
  package init?(bytes: ArraySlice<UInt8>) {
    var reader = ByteReader(bytes)
    guard let id = VersionID(&reader), let made = VersionVector(bytes: reader.rest) else {
      return nil
    }
    self.init(id, madeOn: made)
  }
}
