import LockstepCrypto
import LockstepJSON
import LockstepModel

/// Answer to `POST /v1/accounts` and to `POST /v1/devices`.
@usableFromInline
package struct JoinAnswer: Hashable, Sendable {
  @usableFromInline package var credentials: Credentials
  /// Keys that the issuer of the pairing code wrapped for the device that joins; nil if there are
  /// none. See `PairingRequest.wrapped`.
  @usableFromInline package var wrapped: String?

  @usableFromInline
  package init(_ credentials: Credentials, wrapped: String? = nil) {
    self.credentials = credentials
    self.wrapped = wrapped
  }

  @usableFromInline
  package func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 160 + (wrapped?.utf8.count ?? 0))
    writer.beginObject()
    writer.member("accountID")
    writer.string(credentials.account.text)
    writer.member("deviceID")
    writer.string(credentials.device.text)
    writer.member("token")
    writer.string(credentials.token)
    writer.optional(credentials.scope)
    writer.optional("wrapped", wrapped)
    writer.endObject()
    return writer.finish()
  }

  @usableFromInline
  package static func decoded(body: [UInt8]) throws(Refusal) -> JoinAnswer {
    var reader = MessageReader(body.span.bytes, formCode: .badMessage)
    var account: AccountID?
    var device: DeviceID?
    var token: String?
    var scope = DeviceScope.everything
    var wrapped: String?
    var seen = MemberSet()
    try reader.enterObject()
    while let member = try reader.nextMember(&seen) {
      switch member {
      case .accountID: account = try reader.accountID(.accountID)
      case .deviceID: device = try reader.deviceID(.deviceID)
      case .token: token = try reader.string(.token)
      case .scope: scope = try reader.scope()
      case .wrapped: wrapped = try reader.wrappedKeys()
      default: try reader.skip()
      }
    }
    try reader.finish()
    let credentials = Credentials(
      account: try reader.require(account, .accountID),
      device: try reader.require(device, .deviceID), token: try reader.require(token, .token),
      scope: scope)
    return JoinAnswer(credentials, wrapped: wrapped)
  }
}

/// Answer to `GET /v1/devices`: `{"devices":[…]}`.
@usableFromInline
package struct DeviceList: Hashable, Sendable {
  @usableFromInline package var devices: [Device]

  @usableFromInline package init(_ devices: [Device]) { self.devices = devices }

  @usableFromInline
  package func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 32 + devices.count * 192)
    writer.beginObject()
    writer.member("devices")
    writer.beginArray()
    for device in devices { writer.device(device) }
    writer.endArray()
    writer.endObject()
    return writer.finish()
  }

  @usableFromInline
  package static func decoded(body: [UInt8]) throws(Refusal) -> DeviceList {
    var reader = MessageReader(body.span.bytes, formCode: .badMessage)
    var devices: [Device]?
    var seen = MemberSet()
    try reader.enterObject()
    while let member = try reader.nextMember(&seen) {
      if member == .devices { devices = try reader.devices() } else { try reader.skip() }
    }
    try reader.finish()
    return DeviceList(try reader.require(devices, .devices))
  }
}

extension Device {
  /// Encodes the answer to `PATCH /v1/devices/{id}`.
  @usableFromInline
  package func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 192)
    writer.device(self)
    return writer.finish()
  }
}

extension MessageReader {
  fileprivate mutating func devices() throws(Refusal) -> [Device] {
    var devices: [Device] = []
    try enterArray(.devices)
    while try nextElement() {
      position = Position(list: .devices, index: devices.count)
      devices.append(try device())
      position = nil
    }
    return devices
  }

  private mutating func device() throws(Refusal) -> Device {
    var id: DeviceID?
    var description = DeviceDescription(deviceName: "", platform: "", appVersion: "")
    var lastSeen: Int64?
    var connected = false
    var scope = DeviceScope.everything
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .deviceID: id = try deviceID(.deviceID)
      case .deviceName: description.deviceName = try string(.deviceName)
      case .platform: description.platform = try string(.platform)
      case .appVersion: description.appVersion = try string(.appVersion)
      case .lastSeen: lastSeen = try instant(.lastSeen)
      case .connected: connected = try bool(.connected)
      case .scope: scope = try self.scope()
      default: try skip()
      }
    }
    return Device(
      id: try require(id, .deviceID), description: description,
      lastSeen: try require(lastSeen, .lastSeen), connected: connected, scope: scope)
  }
}

extension JSONWriter {
  fileprivate mutating func device(_ device: Device) {
    beginObject()
    member("deviceID")
    string(device.id.text)
    description(device.description)
    member("lastSeen")
    integer(device.lastSeen)
    member("connected")
    bool(device.connected)
    optional(device.scope)
    endObject()
  }
}

/// Body of `POST /v1/accounts` (without a code) and of `POST /v1/devices` (with one).
@usableFromInline
package struct JoinRequest: Hashable, Sendable {
  /// The pairing code; nil for a new account.
  @usableFromInline package var code: String?
  /// The account whose data the device already holds: a code of another account is refused, and
  /// stays valid.
  @usableFromInline package var account: AccountID?
  @usableFromInline package var description: DeviceDescription

  @usableFromInline
  package init(code: String?, account: AccountID? = nil, description: DeviceDescription) {
    self.code = code
    self.account = account
    self.description = description
  }

  /// `takesCode`: true if the call uses a pairing code. A call that makes a new account uses none,
  /// and ignores the member.
  @usableFromInline
  package static func decoded(body: [UInt8], takesCode: Bool = true) throws(Refusal) -> JoinRequest
  {
    var reader = MessageReader(body.span.bytes, formCode: .badRequest)
    var code: String?
    var account: AccountID?
    var deviceName: String?
    var platform: String?
    var appVersion: String?
    var seen = MemberSet()
    try reader.enterObject()
    while let member = try reader.nextMember(&seen) {
      switch member {
      case .code where takesCode: code = try reader.skipNull() ? nil : try reader.string(.code)
      case .accountID where takesCode:
        account = try reader.skipNull() ? nil : try reader.accountID(.accountID)
      case .deviceName: deviceName = try reader.deviceName()
      case .platform: platform = try reader.label(.platform, bytes: 0...Limits.descriptionBytes)
      case .appVersion:
        appVersion = try reader.label(.appVersion, bytes: 0...Limits.descriptionBytes)
      default: try reader.skip()
      }
    }
    try reader.finish()
    return JoinRequest(
      code: code, account: account,
      description: DeviceDescription(
        deviceName: try reader.require(deviceName, .deviceName),
        platform: try reader.require(platform, .platform),
        appVersion: try reader.require(appVersion, .appVersion)))
  }

  @usableFromInline
  package func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 256)
    writer.beginObject()
    writer.optional("code", code)
    writer.optional("accountID", account?.text)
    writer.description(description)
    writer.endObject()
    return writer.finish()
  }
}

/// Body of `PATCH /v1/devices/{id}`.
@usableFromInline
package struct RenameRequest: Hashable, Sendable {
  @usableFromInline package var deviceName: String

  @usableFromInline package init(deviceName: String) { self.deviceName = deviceName }

  @usableFromInline
  package static func decoded(body: [UInt8]) throws(Refusal) -> RenameRequest {
    var reader = MessageReader(body.span.bytes, formCode: .badRequest)
    var deviceName: String?
    var seen = MemberSet()
    try reader.enterObject()
    while let member = try reader.nextMember(&seen) {
      if member == .deviceName { deviceName = try reader.deviceName() } else { try reader.skip() }
    }
    try reader.finish()
    return RenameRequest(deviceName: try reader.require(deviceName, .deviceName))
  }

  @usableFromInline
  package func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 64)
    writer.beginObject()
    writer.member("deviceName")
    writer.string(deviceName)
    writer.endObject()
    return writer.finish()
  }
}

extension MessageReader {
  fileprivate mutating func deviceName() throws(Refusal) -> String {
    try label(.deviceName, bytes: 1...Limits.descriptionBytes)
  }
}

extension JSONWriter {
  mutating func description(_ description: DeviceDescription) {
    member("deviceName")
    string(description.deviceName)
    member("platform")
    string(description.platform)
    member("appVersion")
    string(description.appVersion)
  }
}

/// Body of `POST /v1/pairings`, which may be empty: the device that joins with the code gets the
/// scope of the one that asks.
@usableFromInline
package struct PairingRequest: Hashable, Sendable {
  /// Zones of the new device; nil: those of the one that asks.
  @usableFromInline package var zones: [Name]?
  /// True if the new device may only read; nil: if the one that asks may only read.
  @usableFromInline package var isReadOnly: Bool?
  /// Seconds for which the code is valid; nil: as long as codes are.
  @usableFromInline package var expiresIn: Int64?
  /// Keys for the new device, wrapped by the one that asks under a secret that the relay never
  /// learns; nil: none. Base64 for URLs without padding, 1 to `Limits.wrappedKeyCharacters`
  /// characters. The relay returns the text only to the device that joins with the code.
  @usableFromInline package var wrapped: String?

  @usableFromInline
  package init(
    zones: [Name]? = nil, isReadOnly: Bool? = nil, expiresIn: Int64? = nil, wrapped: String? = nil
  ) {
    self.zones = zones
    self.isReadOnly = isReadOnly
    self.expiresIn = expiresIn
    self.wrapped = wrapped
  }

  /// Scope of the new device if a device with the given scope asks.
  @usableFromInline
  package func scope(within own: DeviceScope) -> DeviceScope {
    DeviceScope(zones: zones ?? own.zones, isReadOnly: isReadOnly ?? own.isReadOnly)
  }

  @usableFromInline
  package static func decoded(body: [UInt8]) throws(Refusal) -> PairingRequest {
    if body.isEmpty { return PairingRequest() }
    var reader = MessageReader(body.span.bytes, formCode: .badRequest)
    var request = PairingRequest()
    var seen = MemberSet()
    try reader.enterObject()
    while let member = try reader.nextMember(&seen) {
      switch member {
      case .zones: request.zones = try reader.skipNull() ? nil : try reader.scopeZones()
      case .access: request.isReadOnly = try reader.skipNull() ? nil : try reader.access()
      case .expiresIn: request.expiresIn = try reader.skipNull() ? nil : try reader.expiresIn()
      case .wrapped: request.wrapped = try reader.skipNull() ? nil : try reader.wrappedKeys()
      default: try reader.skip()
      }
    }
    try reader.finish()
    return request
  }

  @usableFromInline
  package func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 128 + (wrapped?.utf8.count ?? 0))
    writer.beginObject()
    if let zones { writer.zones(zones) }
    if let isReadOnly { writer.access(isReadOnly: isReadOnly) }
    if let expiresIn {
      writer.member("expiresIn")
      writer.integer(expiresIn)
    }
    writer.optional("wrapped", wrapped)
    writer.endObject()
    return writer.finish()
  }
}

/// Scope of a device: `{"zones":["Todos"],"access":"read"}`; without `zones`, it has all zones. A
/// device with the whole account has no such member.
extension MessageReader {
  fileprivate mutating func scope() throws(Refusal) -> DeviceScope {
    var zones: [Name]?
    var isReadOnly = false
    var seen = MemberSet()
    try enterObject()
    while let member = try nextMember(&seen) {
      switch member {
      case .zones: zones = try scopeZones()
      case .access: isReadOnly = try access()
      default: try skip()
      }
    }
    return DeviceScope(zones: zones, isReadOnly: isReadOnly)
  }

  fileprivate mutating func scopeZones() throws(Refusal) -> [Name] {
    var zones: [Name] = []
    try enterArray(.zones)
    while try nextElement() {
      zones.append(try name(.zones))
      if zones.count > Limits.scopeZones { break }
    }
    guard (1...Limits.scopeZones).contains(zones.count) else {
      throw wrong(.zones, "a list of 1 to \(Limits.scopeZones) names of zones")
    }
    return zones
  }

  fileprivate mutating func access() throws(Refusal) -> Bool {
    switch try string(.access) {
    case "read": return true
    case "write": return false
    default: throw wrong(.access, "read or write")
    }
  }

  fileprivate mutating func expiresIn() throws(Refusal) -> Int64 {
    let range = Limits.pairingSecondsMin..<Limits.pairingMilliseconds / 1_000 + 1
    return try integer(.expiresIn, range, of: "seconds")
  }

  fileprivate mutating func wrappedKeys() throws(Refusal) -> String {
    let range = 1...Limits.wrappedKeyCharacters
    let expectation =
      "\(range.lowerBound) to \(range.upperBound) characters of Base64 for URLs, without padding"
    guard try isNext(.string) else { throw wrong(.wrapped, expectation) }
    let text = try string(.wrapped)
    guard range.contains(text.utf8.count), Base64.decodeURL(text) != nil else {
      throw wrong(.wrapped, expectation)
    }
    return text
  }
}

extension JSONWriter {
  fileprivate mutating func optional(_ scope: DeviceScope) {
    if scope == .everything { return }
    member("scope")
    beginObject()
    if let zones = scope.zones { self.zones(zones) }
    access(isReadOnly: scope.isReadOnly)
    endObject()
  }

  fileprivate mutating func access(isReadOnly: Bool) {
    member("access")
    string(isReadOnly ? "read" : "write")
  }

  fileprivate mutating func zones(_ zones: [Name]) {
    member("zones")
    beginArray()
    for zone in zones { string(zone.text) }
    endArray()
  }
}

/// Answer to `POST /v1/pairings`: a code with which one device can join.
@usableFromInline
package struct PairingOffer: Hashable, Sendable {
  @usableFromInline package var code: String
  /// Relay time, milliseconds since the Unix epoch.
  @usableFromInline package var expiresAt: Int64
  /// Scope of the device that joins with the code.
  @usableFromInline package var scope: DeviceScope
  /// URL by which other devices reach the relay, if its owner has set one.
  @usableFromInline package var relay: String?

  @usableFromInline
  package init(
    code: String, expiresAt: Int64, scope: DeviceScope = .everything, relay: String? = nil
  ) {
    self.code = code
    self.expiresAt = expiresAt
    self.scope = scope
    self.relay = relay
  }

  @usableFromInline
  package func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 160)
    writer.beginObject()
    writer.member("code")
    writer.string(code)
    writer.member("expiresAt")
    writer.integer(expiresAt)
    writer.optional(scope)
    if let relay {
      writer.member("relay")
      writer.string(relay)
    }
    writer.endObject()
    return writer.finish()
  }

  @usableFromInline
  package static func decoded(body: [UInt8]) throws(Refusal) -> PairingOffer {
    var reader = MessageReader(body.span.bytes, formCode: .badMessage)
    var code: String?
    var expiresAt: Int64?
    var scope = DeviceScope.everything
    var relay: String?
    var seen = MemberSet()
    try reader.enterObject()
    while let member = try reader.nextMember(&seen) {
      switch member {
      case .code: code = try reader.string(.code)
      case .expiresAt: expiresAt = try reader.instant(.expiresAt)
      case .scope: scope = try reader.scope()
      case .relay: relay = try reader.string(.relay)
      default: try reader.skip()
      }
    }
    try reader.finish()
    return PairingOffer(
      code: try reader.require(code, .code), expiresAt: try reader.require(expiresAt, .expiresAt),
      scope: scope, relay: relay)
  }
}
