public import LockstepModel

/// Body of `POST /v1/accounts` (without a code) and of `POST /v1/devices` (with one).
public struct JoinRequest: Hashable, Sendable {
  /// The pairing code; nil for a new account.
  public var code: String?
  /// The account whose data the device already holds: a code of another account is refused, and
  /// stays valid.
  public var account: AccountID?
  public var description: DeviceDescription

  public init(code: String?, account: AccountID? = nil, description: DeviceDescription) {
    self.code = code
    self.account = account
    self.description = description
  }

  /// `takesCode`: true if the call uses a pairing code. A call that makes a new account uses none,
  /// and ignores the member.
  public static func decoded(body: [UInt8], takesCode: Bool = true) throws(Refusal) -> JoinRequest {
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
      case .code where takesCode: code = try reader.takeNull() ? nil : try reader.string(.code)
      case .accountID where takesCode:
        account = try reader.takeNull() ? nil : try reader.accountID(.accountID)
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

  public func encodedBody() -> [UInt8] {
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
public struct RenameRequest: Hashable, Sendable {
  public var deviceName: String

  public init(deviceName: String) { self.deviceName = deviceName }

  public static func decoded(body: [UInt8]) throws(Refusal) -> RenameRequest {
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

  public func encodedBody() -> [UInt8] {
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
