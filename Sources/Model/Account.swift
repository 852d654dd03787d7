/// Description that a device gives of itself when it joins.
public struct DeviceDescription: Hashable, Sendable {
  public var deviceName: String
  public var platform: String
  public var appVersion: String

  public init(deviceName: String, platform: String, appVersion: String) {
    self.deviceName = deviceName
    self.platform = platform
    self.appVersion = appVersion
  }
}

/// Device of an account, as `GET /v1/devices` lists it.
public struct Device: Hashable, Sendable {
  public var id: DeviceID
  public var description: DeviceDescription
  /// Relay time, milliseconds since the Unix epoch.
  public var lastSeen: Int64
  public var connected: Bool

  public init(id: DeviceID, description: DeviceDescription, lastSeen: Int64, connected: Bool) {
    self.id = id
    self.description = description
    self.lastSeen = lastSeen
    self.connected = connected
  }
}

/// Identity of a device after it has joined, and the secret that proves it.
public struct Credentials: Hashable, Sendable {
  public var account: AccountID
  public var device: DeviceID
  /// The bearer token. Never logged, never on a command line.
  public var token: String

  public init(account: AccountID, device: DeviceID, token: String) {
    self.account = account
    self.device = device
    self.token = token
  }
}

/// Rights of an account on a relay, set by the relay's owner (`lockstep account plan`).
///
/// A plan bounds saves. An account may always read the data that it holds, so that data is never
/// withheld from its owner; but a plan without any zone blocks the account's devices.
public struct Plan: Hashable, Sendable {
  /// Zones that may be saved to; nil: all, including future ones.
  public var zones: [Name]?
  /// Bytes of records, and number of records, that the account may have; nil: the value that the
  /// relay's owner set for all accounts.
  public var bytes: Int64?
  public var records: Int64?

  public init(zones: [Name]?, bytes: Int64? = nil, records: Int64? = nil) {
    self.zones = zones
    self.bytes = bytes
    self.records = records
  }

  public static let everything = Plan(zones: nil)

  public func includes(_ zone: Name) -> Bool { zones?.contains(zone) ?? true }

  public var hasNoZone: Bool { zones?.isEmpty ?? false }
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
