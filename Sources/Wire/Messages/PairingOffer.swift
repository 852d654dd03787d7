public import LockstepModel

/// Answer to `POST /v1/pairings`: a code with which one device can join.
public struct PairingOffer: Hashable, Sendable {
  public var code: String
  /// Relay time, milliseconds since the Unix epoch.
  public var expiresAt: Int64

  public init(code: String, expiresAt: Int64) {
    self.code = code
    self.expiresAt = expiresAt
  }

  public func encodedBody() -> [UInt8] {
    var writer = JSONWriter(capacity: 96)
    writer.beginObject()
    writer.member("code")
    writer.string(code)
    writer.member("expiresAt")
    writer.integer(expiresAt)
    writer.endObject()
    return writer.finish()
  }

  public static func decoded(body: [UInt8]) throws(Refusal) -> PairingOffer {
    var reader = MessageReader(body.span.bytes, formCode: .badMessage)
    var code: String?
    var expiresAt: Int64?
    var seen = MemberSet()
    try reader.enterObject()
    while let member = try reader.nextMember(&seen) {
      switch member {
      case .code: code = try reader.string(.code)
      case .expiresAt: expiresAt = try reader.instant(.expiresAt)
      default: try reader.skip()
      }
    }
    try reader.finish()
    return PairingOffer(
      code: try reader.require(code, .code), expiresAt: try reader.require(expiresAt, .expiresAt))
  }
}
