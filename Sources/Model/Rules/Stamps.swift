import LockstepJSON

/// Time and author of an edit. Stamps are ordered by time, then by the device's UTF-8 bytes.
package struct Stamp: Sendable {
  /// Relay time, milliseconds since the Unix epoch.
  package var time: Int64
  package var device: String

  /// Times beyond ±2⁶⁰ become that bound, so that none of their sums can overflow.
  package init(time: Int64, device: String) {
    self.time = min(max(time, -Self.timeMax), Self.timeMax)
    self.device = device
  }

  private static let timeMax: Int64 = 1 << 60

  /// Reads `[time, device]`, with or without further elements; nil for anything else.
  init?(_ value: JSONValue?) {
    guard let elements = value?.array, elements.count >= 2,
      let time = elements[0].wholeNumber, let device = elements[1].string
    else { return nil }
    self.init(time: time, device: device)
  }

  var json: JSONValue { [.number(JSONNumber(time)), .string(device)] }

  /// Returns this stamp, or one a millisecond after `other` if this one is not later: a change is
  /// newer than the value it changed, however wrong its device's clock was.
  func after(_ other: Stamp) -> Stamp {
    time > other.time ? self : Stamp(time: other.time + 1, device: device)
  }
}

extension Stamp: Hashable, Comparable {
  package static func == (left: Stamp, right: Stamp) -> Bool {
    left.time == right.time && left.device.utf8.elementsEqual(right.device.utf8)
  }

  package static func < (left: Stamp, right: Stamp) -> Bool {
    if left.time != right.time { return left.time < right.time }
    return left.device.utf8.lexicographicallyPrecedes(right.device.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(time)
    for byte in device.utf8 { hasher.combine(byte) }
  }
}

/// A value with the stamp of the edit that set it; without a value, the edit removed it.
struct StampedValue: Hashable, Sendable {
  var stamp: Stamp
  var value: JSONValue?

  /// Returns the one with the greater stamp. At one stamp a value comes before a removal, and the
  /// greater JSON text before the lesser.
  static func newest(_ left: StampedValue, _ right: StampedValue) -> StampedValue {
    if left.stamp != right.stamp { return left.stamp < right.stamp ? right : left }
    guard let leftValue = left.value else { return right }
    guard let rightValue = right.value else { return left }
    return precedes(leftValue, rightValue) ? right : left
  }

  private static func precedes(_ left: JSONValue, _ right: JSONValue) -> Bool {
    left.serialized().lexicographicallyPrecedes(right.serialized())
  }
}

/// The reserved member `"~"` of a record's fields, which holds the stamps of the fields:
///
/// | entry | rule of the field | content |
/// | --- | --- | --- |
/// | `""`: `[t,d]` | all | stamp of all that is present and has no entry of its own |
/// | `field`: `[t,d]` | one value | its stamp, also after it was removed |
/// | `field`: `[[t,d,value],…]` | least, greatest, or, and | concurrent edits, oldest first |
/// | `field`: `{key: [t,d]}` | set, map | stamp of an element or member; `[t,d,0]`: taken out |
///
/// An edit `[t,d]` among concurrent ones has removed the field.
package enum Stamps {
  package static let member = "~"
  /// Name of the entry that holds the commonest stamp.
  static let common = ""

  /// Returns the fields without their stamps.
  package static func removed(from fields: JSONValue) -> JSONValue {
    fields.setting(member, to: nil)
  }
}
