import LockstepCrypto
import LockstepModel
import LockstepWebPush

@testable import LockstepGateway

/// Values that the tests of the gateway share.
enum Samples {
  static let origin = "https://push.example"
  static let deviceToken = [UInt8](0..<32)
  static let wall: Int64 = 1_800_000_000_000

  static func key(_ number: UInt8) -> P256PrivateKey {
    guard let key = P256PrivateKey([UInt8](repeating: number, count: 32)) else {
      preconditionFailure("a valid scalar")
    }
    return key
  }

  static var team: APNsTeam {
    guard let team = APNsTeam(key: key(9), keyID: "A1B2C3D4E5", team: "TEAM123456") else {
      preconditionFailure("valid ids")
    }
    return team
  }

  static func target(_ environment: APNsEnvironment = .production) -> APNsTarget {
    guard
      let target = APNsTarget(
        deviceToken: deviceToken, topic: "com.example.app", environment: environment)
    else { preconditionFailure("a valid target") }
    return target
  }

  static func moment(_ milliseconds: Int64 = 0) -> Moment {
    Moment(
      instant: Instant(nanoseconds: 1_000_000_000).advanced(milliseconds: milliseconds),
      wall: wall + milliseconds)
  }

  /// A push of RFC 8291 for some device.
  static var push: [UInt8] {
    guard let recipient = PushRecipient(publicKey: key(3).publicKey.bytes, auth: auth) else {
      preconditionFailure("a valid subscription")
    }
    return PushMessage.encrypt(
      Array("hello".utf8), padding: 20, to: recipient, sender: key(4),
      salt: [UInt8](repeating: 5, count: 16))
  }

  static let auth = [UInt8](repeating: 6, count: 16)
}
