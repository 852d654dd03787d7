/// Fast check for repeated names in nested objects: finds every object that repeats a name, and
/// some that do not. Needs no memory for objects that contain none.
struct NameFilter {
  /// Slots that the names of the innermost object occupy, one bit each.
  private var slots: UInt64 = 0
  /// Slots of the objects around it.
  private var outer: [UInt64] = []
  private var depth = 0
  /// True if two names of an object may be equal.
  private(set) var mayRepeat = false

  mutating func enterObject() {
    if depth > 0 { outer.append(slots) }
    slots = 0
    depth += 1
  }

  mutating func leaveObject() {
    depth -= 1
    slots = outer.popLast() ?? 0
  }

  /// Adds a name of the innermost object; nil: its spelling says nothing about its value.
  mutating func add(_ hash: UInt64?) {
    guard let hash else {
      mayRepeat = true
      return
    }
    let slot: UInt64 = 1 << (hash >> 58)
    if slots & slot != 0 { mayRepeat = true }
    slots |= slot
  }
}

extension JSONScanner {
  /// Checks that no object in the next value repeats a name.
  mutating func checkNames() throws(JSONFault) {
    switch try kind() {
    case .array:
      try enterArray()
      while try nextElement() { try checkNames() }
    case .object:
      let start = position
      var names: [[UInt8]] = []
      try enterObject()
      while let name = try nextName() {
        names.append(name.hasEscapes ? Array(try string(name).utf8) : copy(name.range))
        try checkNames()
      }
      names.sort { $0.lexicographicallyPrecedes($1) }
      guard zip(names, names.dropFirst()).allSatisfy({ $0 != $1 }) else {
        throw JSONFault(.duplicateName, at: start)
      }
    case .string, .number, .bool, .null: try skipValue()
    }
  }
}
