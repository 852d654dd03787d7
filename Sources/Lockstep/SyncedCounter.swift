import LockstepJSON
import LockstepModel

/// A number that several devices count up and down at the same time. The field's rule is `counter`:
/// nothing is counted twice, and nothing is lost.
///
/// A value counts from what it was read with: saving it twice counts once, and it adds nothing to
/// what this device has counted since. Count in `update`, which reads what stands then.
///
/// ```swift
/// try await lockstep.update(Todo.self, id: id) { $0.minutes.add(25) }
/// ```
public struct SyncedCounter: Sendable {
  private struct Part: Sendable {
    var up: Int64
    var down: Int64
  }

  /// Counts of each device.
  private var parts: TextTable<Part>
  /// Counts of this value since it was read.
  private var added = Part(up: 0, down: 0)
  /// Key of `added` in the encoded form. No device has an empty id.
  private static let addedKey = ""

  public init() { parts = TextTable() }

  /// The sum of what all devices have counted; limited to the range of `Int`.
  public var value: Int {
    parts.entries.reduce(added.up.subtracting(added.down)) {
      $0.adding($1.value.up.subtracting($1.value.down))
    }.asInt
  }

  /// Counts up, or down by a negative number.
  public mutating func add(_ number: Int) {
    if number >= 0 {
      added.up = added.up.adding(Int64(number))
    } else {
      added.down = added.down.adding(Int64(clamping: number.magnitude))
    }
  }

  /// Reads the field's JSON form, `{"device": [up, down]}`; parts of another form count as nothing.
  init?(json: JSONValue) {
    guard let members = json.members else { return nil }
    var read: [(String, Part)] = []
    for member in members {
      guard let numbers = member.value.array, numbers.count == 2, let up = numbers[0].wholeNumber,
        let down = numbers[1].wholeNumber
      else { continue }
      let part = Part(up: max(0, up), down: max(0, down))
      if member.name.isEmpty { added = part } else { read.append((member.name, part)) }
    }
    parts = TextTable(read)
  }

  /// Returns the counter with what was counted since it was read as a part of the device.
  func attributed(to device: String) -> SyncedCounter {
    guard added.up > 0 || added.down > 0 else { return self }
    var counter = self
    let known = parts[device] ?? Part(up: 0, down: 0)
    counter.parts[device] = Part(
      up: known.up.adding(added.up), down: known.down.adding(added.down))
    counter.added = Part(up: 0, down: 0)
    return counter
  }
}

extension SyncedCounter: JSONFields {
  var json: JSONValue {
    var members = parts.entries.map { JSONMember($0.key, Self.json($0.value)) }
    if added.up > 0 || added.down > 0 {
      members.append(JSONMember(Self.addedKey, Self.json(added)))
    }
    return .object(members)
  }

  private static func json(_ part: Part) -> JSONValue {
    [.number(JSONNumber(part.up)), .number(JSONNumber(part.down))]
  }
}

/// Two counters are equal if their values are.
extension SyncedCounter: Hashable {
  public static func == (left: SyncedCounter, right: SyncedCounter) -> Bool {
    left.value == right.value
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

extension SyncedCounter: Codable {
  public init(from decoder: any Decoder) throws {
    let parts = try decoder.singleValueContainer().decode([String: [Int64]].self)
    let members = parts.map { JSONMember($0.key, .array($0.value.map { .number(JSONNumber($0)) })) }
    self = SyncedCounter(json: .object(members)) ?? SyncedCounter()
  }

  public func encode(to encoder: any Encoder) throws {
    var encoded: [String: [Int64]] = [:]
    for entry in parts.entries { encoded[entry.key] = [entry.value.up, entry.value.down] }
    if added.up > 0 || added.down > 0 { encoded[Self.addedKey] = [added.up, added.down] }
    var container = encoder.singleValueContainer()
    try container.encode(encoded)
  }
}

extension Int64 {
  /// Sums and differences that stay in range.
  fileprivate func adding(_ other: Int64) -> Int64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? (other > 0 ? .max : .min) : sum
  }

  fileprivate func subtracting(_ other: Int64) -> Int64 {
    let (difference, overflows) = subtractingReportingOverflow(other)
    return overflows ? (other > 0 ? .min : .max) : difference
  }

  fileprivate var asInt: Int { Int(clamping: self) }
}
