/// Description that a device gives of itself when it joins.
@usableFromInline
package struct DeviceDescription: Hashable, Sendable {
  @usableFromInline package var deviceName: String
  @usableFromInline package var platform: String
  @usableFromInline package var appVersion: String

  @usableFromInline
  package init(deviceName: String, platform: String, appVersion: String) {
    self.deviceName = deviceName
    self.platform = platform
    self.appVersion = appVersion
  }
}

/// Device of an account, as `GET /v1/devices` lists it.
@usableFromInline
package struct Device: Hashable, Sendable {
  @usableFromInline package var id: DeviceID
  @usableFromInline package var description: DeviceDescription
  /// Relay time, milliseconds since the Unix epoch.
  @usableFromInline package var lastSeen: Int64
  @usableFromInline package var connected: Bool
  @usableFromInline package var scope: DeviceScope

  @usableFromInline
  package init(
    id: DeviceID, description: DeviceDescription, lastSeen: Int64, connected: Bool,
    scope: DeviceScope = .everything
  ) {
    self.id = id
    self.description = description
    self.lastSeen = lastSeen
    self.connected = connected
    self.scope = scope
  }
}

/// The part of an account that a device may use. It is fixed when the device joins, by the pairing
/// code, and never changes.
@usableFromInline
package struct DeviceScope: Hashable, Sendable {
  /// Zones of which the device may know, in their order, each once; nil: all, future ones too.
  @usableFromInline package let zones: [Name]?
  /// True if the device may change nothing in them.
  @usableFromInline package let isReadOnly: Bool

  @usableFromInline
  package init(zones: [Name]?, isReadOnly: Bool = false) {
    self.zones = zones.map { Set($0).sorted() }
    self.isReadOnly = isReadOnly
  }

  @usableFromInline package static let everything = DeviceScope(zones: nil)

  @usableFromInline
  package func includes(_ zone: Name) -> Bool { zones?.contains(zone) ?? true }

  @usableFromInline
  package func includesWrites(to zone: Name) -> Bool { !isReadOnly && includes(zone) }

  /// True if the other scope allows nothing that this one does not.
  @usableFromInline
  package func contains(_ other: DeviceScope) -> Bool {
    if isReadOnly, !other.isReadOnly { return false }
    guard let zones else { return true }
    return other.zones.map { Set($0).isSubset(of: zones) } ?? false
  }
}

/// Identity of a device after it has joined, and the secret that proves it.
@usableFromInline
package struct Credentials: Hashable, Sendable {
  @usableFromInline package var account: AccountID
  @usableFromInline package var device: DeviceID
  /// The bearer token. Never logged, never on a command line.
  @usableFromInline package var token: String
  @usableFromInline package var scope: DeviceScope

  @usableFromInline
  package init(
    account: AccountID, device: DeviceID, token: String, scope: DeviceScope = .everything
  ) {
    self.account = account
    self.device = device
    self.token = token
    self.scope = scope
  }
}

/// Rights of an account on a relay, set by the relay's owner (`lockstep account plan`).
///
/// A plan bounds saves. An account may always read the data that it holds, so that data is never
/// withheld from its owner; but a plan without any zone blocks the account's devices.
@usableFromInline
package struct Plan: Hashable, Sendable {
  /// Zones that may be saved to; nil: all, including future ones.
  @usableFromInline package var zones: [Name]?
  /// Bytes of records, and number of records, that the account may have; nil: the value that the
  /// relay's owner set for all accounts.
  @usableFromInline package var bytes: Int64?
  @usableFromInline package var records: Int64?

  @usableFromInline
  package init(zones: [Name]?, bytes: Int64? = nil, records: Int64? = nil) {
    self.zones = zones
    self.bytes = bytes
    self.records = records
  }

  @usableFromInline package static let everything = Plan(zones: nil)

  /// The zone in which an account's devices give each other keys is part of every plan.
  @usableFromInline
  package func includes(_ zone: Name) -> Bool {
    zone == Plan.keyZone || zones?.contains(zone) ?? true
  }

  package static let keyZone = Name(trusted: "Keys")

  @usableFromInline package var hasNoZone: Bool { zones?.isEmpty ?? false }
}

/// Letters of codes that people read aloud and type: Crockford's base 32, which has no I, L, O or
/// U. A typed I, L or O counts as the digit that it resembles.
package enum CodeLetters {
  /// Number of letters in one part of a code: 60 bits.
  package static let count = 12

  private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

  /// Returns the letters of one part. `word`: random bits, of which 60 are used.
  package static func symbols(from word: UInt64) -> [UInt8] {
    (0..<count).map { alphabet[Int(word >> UInt64(5 * $0) & 31)] }
  }

  /// Returns the letter for a typed one; nil if there is none.
  package static func symbol(for typed: UInt8) -> UInt8? {
    let letter = (UInt8(ascii: "a")...UInt8(ascii: "z")) ~= typed ? typed & ~0x20 : typed
    return switch letter {
    case UInt8(ascii: "O"): UInt8(ascii: "0")
    case UInt8(ascii: "I"), UInt8(ascii: "L"): UInt8(ascii: "1")
    default: alphabet.contains(letter) ? letter : nil
    }
  }

  /// Returns the letters in groups of four, `XXXX-XXXX-XXXX`.
  package static func grouped(_ letters: [UInt8]) -> String {
    stride(from: 0, to: letters.count, by: 4).map { start in
      String(decoding: letters[start..<min(start + 4, letters.count)], as: UTF8.self)
    }.joined(separator: "-")
  }
}
