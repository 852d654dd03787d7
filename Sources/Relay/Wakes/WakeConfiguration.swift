import LockstepCrypto
import LockstepModel
import LockstepStorage
import LockstepWebPush

/// Keys of a relay for waking devices by Web Push, and the rules of its owner.
@usableFromInline
package struct WakeConfiguration: Sendable, Hashable {
  /// Keys of the relay, oldest first; devices subscribe for the newest.
  package let wakeKeys: [WakeKey]
  package let rules: PushRules
  /// A `mailto:` or `https:` URL by which a push service reaches the relay's owner; some services
  /// require it.
  package let subject: String?
  /// The newest key in Base64 for URLs: the `applicationServerKey` of the Push API.
  package let publicKey: String

  /// Returns nil without a key, or if one is invalid.
  package init?(keys: [WakeKey], rules: PushRules = PushRules(), subject: String? = nil) {
    let pairs = keys.map { P256PrivateKey($0.privateKey) }
    guard let newest = pairs.last, let newest, !pairs.contains(where: { $0 == nil }) else {
      return nil
    }
    wakeKeys = keys
    self.rules = rules
    self.subject = subject
    publicKey = Base64.encodeURL(newest.publicKey.bytes)
  }

  /// Time at which the newest key was made.
  var keyMadeAt: Int64 { wakeKeys.last?.madeAt ?? 0 }

  /// Draws a key.
  package static func newKey(from secrets: SecretSource, at wall: Int64) -> WakeKey {
    WakeKey(madeAt: wall, privateKey: PushMessage.newKey(from: secrets).scalar)
  }

  /// Returns the registration with its endpoint in the usual spelling. Throws if the relay would
  /// not send to it.
  func check(_ registration: WakeRegistration) throws(Refusal) -> WakeRegistration {
    let endpoint: PushEndpoint
    do throws(PushEndpointFault) {
      endpoint = try PushEndpoint(registration.endpoint)
    } catch {
      throw Refusal(.badRequest, "`endpoint` \(error).")
    }
    if let refusal = rules.refusal(of: endpoint) {
      throw Refusal(
        .wakeNotAllowed,
        "The relay sends no wakes to this endpoint: \(refusal). Its owner can allow the host with "
          + "--wake-allow.")
    }
    guard PushRecipient(publicKey: registration.p256dh, auth: registration.auth) != nil else {
      throw Refusal(.badRequest, "`p256dh` is not a point on the curve P-256.")
    }
    var accepted = registration
    accepted.endpoint = endpoint.url
    return accepted
  }

  static let isOff = Refusal(
    .wakeNotAllowed, "This relay wakes no devices; its owner has turned that off.")
}

/// The code that proves that pushes reach a device: 16 random bytes as text.
enum WakeCode {
  static func make(from secrets: SecretSource) -> String { Base64.encodeURL(secrets.bytes(16)) }

  static func hash(of code: String) -> [UInt8] { SHA256.hash(Array(code.utf8)) }
}

/// A registration that is being stored, and the code that its device gets by a push.
@usableFromInline
package struct WakeOffer: Sendable, Hashable {
  var id: SleeperID
  var registration: WakeRegistration
  var code: String
}
