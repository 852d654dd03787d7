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

  @usableFromInline
  package init(id: DeviceID, description: DeviceDescription, lastSeen: Int64, connected: Bool) {
    self.id = id
    self.description = description
    self.lastSeen = lastSeen
    self.connected = connected
  }
}

/// Identity of a device after it has joined, and the secret that proves it.
@usableFromInline
package struct Credentials: Hashable, Sendable {
  @usableFromInline package var account: AccountID
  @usableFromInline package var device: DeviceID
  /// The bearer token. Never logged, never on a command line.
  @usableFromInline package var token: String

  @usableFromInline
  package init(account: AccountID, device: DeviceID, token: String) {
    self.account = account
    self.device = device
    self.token = token
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

  @usableFromInline package func includes(_ zone: Name) -> Bool { zones?.contains(zone) ?? true }

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
