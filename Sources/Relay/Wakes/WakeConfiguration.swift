import LockstepCrypto
import LockstepModel
import LockstepStorage
import LockstepWebPush

/// Keys of a relay for waking devices by Web Push, and the rules of its owner.
@usableFromInline
package struct WakeConfiguration: Sendable, Hashable {
  /// Keys under which the relay sends, oldest first; devices subscribe for the newest.
  package let wakeKeys: [WakeKey]
  package let rules: PushRules
  /// A `mailto:` or `https:` URL by which a push service reaches the relay's owner; some services
  /// require it.
  package let subject: String?
  /// The newest key in Base64 for URLs: the `applicationServerKey` of the Push API.
  package let publicKey: String
  /// The keys in that form, in the same order.
  private let publicKeys: [String]

  /// `keys`: oldest first. Returns nil without a key, or if one is invalid.
  package init?(keys: [WakeKey], rules: PushRules = PushRules(), subject: String? = nil) {
    publicKeys = keys.compactMap(\.publicText)
    guard let newest = publicKeys.last, publicKeys.count == keys.count else { return nil }
    wakeKeys = keys
    self.rules = rules
    self.subject = subject
    publicKey = newest
  }

  /// Returns the same settings with other keys; nil without a key, or if one is invalid.
  func replacing(keys: [WakeKey]) -> WakeConfiguration? {
    WakeConfiguration(keys: keys, rules: rules, subject: subject)
  }

  var keyTimes: WakeKeyTimes { WakeKeyTimes(wakeKeys) }

  /// Returns the time of the key for which a device says that it has subscribed; of the newest if
  /// it names none. Returns nil if the key is not known.
  func madeAt(wakeKey: String?) -> Int64? {
    guard let wakeKey else { return keyTimes.newest }
    return publicKeys.firstIndex(of: wakeKey).map { wakeKeys[$0].madeAt }
  }

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

  static let unknownKey = Refusal(
    .badRequest, "`wakeKey` is not a key of this relay; subscribe for the one in GET /v1/limits.")

  static let isOff = Refusal(
    .wakeNotAllowed, "This relay wakes no devices; its owner has turned that off.")
}

extension WakeKey {
  /// The public key in Base64 for URLs; nil if the key is invalid.
  package var publicText: String? {
    P256PrivateKey(privateKey).map { Base64.encodeURL($0.publicKey.bytes) }
  }
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
  /// Time of the key for which the device subscribed.
  var keyMadeAt: Int64
  var code: String
}
