/// The versions of a record that one version was made on, and itself: for each device that has
/// written the record, the newest of its versions that is included. A device computes it and seals
/// it into the record, so that no relay can make one version follow another.
///
/// A version is identified by its device and a number: the version's time, or one more than the
/// greatest number that it includes, if that is later. Numbers are below `Limits.sequenceLimit`, so
/// that they stay exact in JavaScript.
@usableFromInline
package struct VersionVector: Hashable, Sendable {
  @usableFromInline
  package struct Entry: Hashable, Sendable {
    @usableFromInline package let device: DeviceID
    @usableFromInline package let number: Int64

    @usableFromInline
    package init(device: DeviceID, number: Int64) {
      self.device = device
      self.number = number
    }
  }

  /// In the order of devices, each once, with numbers greater than `floor`; at most
  /// `Limits.vectorEntries`.
  @usableFromInline package private(set) var entries: [Entry] = []
  /// Number of every device that has no entry: 0 until more devices have written the record than
  /// there are entries.
  @usableFromInline package private(set) var floor: Int64 = 0

  /// A vector that includes nothing.
  package init() {}

  /// Returns nil if the entries are not as `entries` demands.
  package init?(entries: [Entry], floor: Int64) {
    guard (0..<Limits.sequenceLimit).contains(floor), entries.count <= Limits.vectorEntries,
      zip(entries, entries.dropFirst()).allSatisfy({ $0.device < $1.device }),
      entries.allSatisfy({ $0.number > floor && $0.number < Limits.sequenceLimit })
    else { return nil }
    self.entries = entries
    self.floor = floor
  }

  package subscript(_ device: DeviceID) -> Int64 {
    let index = entries.lowerBound { $0.device < device }
    guard index < entries.count, entries[index].device == device else { return floor }
    return entries[index].number
  }

  /// True if the version of this vector includes the version of the other one, or is it.
  package func covers(_ other: VersionVector) -> Bool {
    other.floor <= floor && other.entries.allSatisfy { self[$0.device] >= $0.number }
  }

  /// Returns the vector that includes what both include.
  package func joined(with other: VersionVector) -> VersionVector {
    var joined = VersionVector()
    joined.floor = max(floor, other.floor)
    let devices = Set(entries.map(\.device)).union(other.entries.map(\.device)).sorted()
    for device in devices {
      let number = max(self[device], other[device])
      if number > joined.floor {
        joined.entries.append(Entry(device: device, number: number))
      }
    }
    joined.makeRoom()
    return joined
  }

  /// Returns the number of a version that is made at `time`, in milliseconds, on those that this
  /// vector includes; nil if there is none left below `Limits.sequenceLimit`.
  package func nextNumber(at time: Int64) -> Int64? {
    let number = max(time, entries.reduce(floor) { max($0, $1.number) } + 1)
    return number < Limits.sequenceLimit ? number : nil
  }

  /// Returns the vector of the version of this number that `device` makes on those that this vector
  /// includes.
  package func adding(_ device: DeviceID, _ number: Int64) -> VersionVector {
    var added = VersionVector()
    added.entries = [Entry(device: device, number: number)]
    return joined(with: added)
  }

  /// Removes the smallest numbers if there are too many entries. Every device is then taken to have
  /// been seen up to the greatest of them.
  private mutating func makeRoom() {
    guard entries.count > Limits.vectorEntries else { return }
    let numbers = entries.map(\.number).sorted()
    floor = numbers[entries.count - Limits.vectorEntries - 1]
    entries.removeAll { $0.number <= floor }
  }
}

extension VersionVector {
  /// The floor in 8 bytes, then 16 for each entry: its device and its number; all big-endian.
  package var bytes: [UInt8] {
    var bytes = VersionVector.bytes(of: UInt64(bitPattern: floor))
    bytes.reserveCapacity(8 + 16 * entries.count)
    for entry in entries {
      bytes += VersionVector.bytes(of: entry.device.rawValue)
      bytes += VersionVector.bytes(of: UInt64(bitPattern: entry.number))
    }
    return bytes
  }

  /// Returns nil if these are not the `bytes` of a vector.
  package init?(bytes: some RandomAccessCollection<UInt8>) {
    guard bytes.count >= 8, bytes.count % 16 == 8 else { return nil }
    let entries = stride(from: 8, to: bytes.count, by: 16).map { offset in
      Entry(
        device: DeviceID(rawValue: VersionVector.number(bytes, at: offset)),
        number: Int64(bitPattern: VersionVector.number(bytes, at: offset + 8)))
    }
    self.init(
      entries: entries, floor: Int64(bitPattern: VersionVector.number(bytes, at: 0)))
  }

  private static func bytes(of number: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
  }

  private static func number(
    _ bytes: some RandomAccessCollection<UInt8>, at offset: Int
  ) -> UInt64 {
    bytes.dropFirst(offset).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}
