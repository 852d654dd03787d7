public import LockstepModel

extension Credentials {
  /// Encodes the body that answers a join.
  public func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 160)
    writer.beginObject()
    writer.member("accountID")
    writer.string(account.text)
    writer.member("deviceID")
    writer.string(device.text)
    writer.member("token")
    writer.string(token)
    writer.endObject()
    return writer.finish()
  }

  public static func decoded(body: [UInt8]) throws(Refusal) -> Credentials {
    var reader = MessageReader(body.span.bytes, formCode: .badMessage)
    var account: AccountID?
    var device: DeviceID?
    var token: String?
    var seen = MemberSet()
    try reader.enterObject()
    while let member = try reader.nextMember(&seen) {
      switch member {
      case .accountID: account = try reader.accountID(.accountID)
      case .deviceID: device = try reader.deviceID(.deviceID)
      case .token: token = try reader.string(.token)
      default: try reader.skip()
      }
    }
    try reader.finish()
    return Credentials(
      account: try reader.require(account, .accountID),
      device: try reader.require(device, .deviceID), token: try reader.require(token, .token))
  }
}
