import LockstepModel

/// Every member name of the protocol, so that a scanned name becomes a case without a string, and a
/// repeated name in an object is detected.
enum Member: UInt8, CaseIterable {
  // Messages.
  case op, id, t0, t1, t2, keepAlive, within
  // Saves and fetches.
  case zone, records, atomic, since, limit, token, results, more, changes, lostTags
  // Records.
  case name, type, fields, modifiedAt, device, tag, deleted, baseTag, chunks
  // Results of a save.
  case conflict, error, title, status, code, detail, retryAfter, time, restoredThrough
  case lostThrough
  // Accounts and devices.
  case accountID, deviceID, deviceName, platform, appVersion, expiresAt, devices, lastSeen
  case connected
  // Subscriptions.
  case kind, recordType, `where`, events
  // Chunks of files.
  case hashes, missing
  // Timing of a save.
  case timed, timing, received, durable, pushed

  /// The name on the wire: the case's own name.
  var text: String { String(describing: self) }

  /// Returns nil for a name that is not in the protocol.
  static func named(_ key: JSONKey) -> Member? { table.member(key) }

  private static let table = MemberTable()
}

/// Set of the members that an object has had so far, one bit each; 64 at most.
struct MemberSet {
  private var bits: UInt64 = 0

  /// Returns false if the member was already present.
  mutating func insert(_ member: Member) -> Bool {
    let bit: UInt64 = 1 << UInt64(member.rawValue)
    defer { bits |= bit }
    return bits & bit == 0
  }
}

/// Open-addressed table from keys to members, made once.
private struct MemberTable {
  private static let slots = 128
  private var keys: [JSONKey]
  private var members: [Member?]

  init() {
    keys = Array(repeating: JSONKey("".utf8), count: Self.slots)
    members = Array(repeating: nil, count: Self.slots)
    for member in Member.allCases {
      let key = JSONKey(member.text.utf8)
      var slot = Self.slot(key)
      while members[slot] != nil { slot = (slot + 1) % Self.slots }
      keys[slot] = key
      members[slot] = member
    }
  }

  func member(_ key: JSONKey) -> Member? {
    var slot = Self.slot(key)
    while let member = members[slot] {
      if keys[slot] == key { return member }
      slot = (slot + 1) % Self.slots
    }
    return nil
  }

  private static func slot(_ key: JSONKey) -> Int {
    Int(((key.low ^ key.high) &* 0x9E37_79B9_7F4A_7C15) >> 57)
  }
}
