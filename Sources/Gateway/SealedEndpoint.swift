import LockstepCrypto
import LockstepModel

/// Capability in an endpoint's URL: the app on a device, and the relay that may push to it. It is
/// encrypted and authenticated with the gateway's key, so the gateway needs no table of endpoints,
/// and nobody else can make or read one. The same content gives the same text.
///
///      1 byte    version: 1
///      1 byte    environment
///     32 bytes   SHA-256 of the relay's VAPID key
///      1 byte    length of the topic
///      n bytes   topic
///      n bytes   device token
struct SealedEndpoint: Hashable {
  private static let version: UInt8 = 1
  private static let hashBytes = 32
  /// Bytes before the topic.
  private static let fixedBytes = 3 + hashBytes
  /// Purpose of the encryption; another one under the same key would have another text.
  private static let purpose = Array("lockstep gateway endpoint".utf8)
  /// Characters of the longest one.
  static let charactersMax =
    (fixedBytes + GatewayLimits.topicCharacters.upperBound
      + GatewayLimits.deviceTokenBytes.upperBound + SIV.overhead + 2) / 3 * 4

  let target: APNsTarget
  /// SHA-256 of the only key that may push.
  let relayKeyHash: [UInt8]

  /// `relayKey`: the only key whose tokens are accepted (RFC 8292 section 4).
  init(target: APNsTarget, relayKey: P256PublicKey) {
    self.target = target
    relayKeyHash = SHA256.hash(relayKey.bytes)
  }

  /// Returns nil unless `text` was sealed with this key, character for character.
  init?(opening text: String, with key: SIV) {
    guard text.utf8.count <= SealedEndpoint.charactersMax, let sealed = Base64.decodeURL(text),
      let bytes = key.opened(sealed, data: SealedEndpoint.purpose),
      bytes.count > SealedEndpoint.fixedBytes, bytes[0] == SealedEndpoint.version,
      let environment = APNsEnvironment(rawValue: bytes[1])
    else { return nil }
    let rest = bytes[SealedEndpoint.fixedBytes...]
    let topic = rest.prefix(Int(bytes[SealedEndpoint.fixedBytes - 1]))
    guard
      let target = APNsTarget(
        deviceToken: Array(rest.dropFirst(topic.count)),
        topic: String(decoding: topic, as: UTF8.self), environment: environment)
    else { return nil }
    self.target = target
    relayKeyHash = Array(bytes[2..<2 + SealedEndpoint.hashBytes])
  }

  /// Returns the text for a URL.
  func sealed(with key: SIV) -> String {
    let topic = Array(target.topic.utf8)
    let bytes =
      [SealedEndpoint.version, target.environment.rawValue] + relayKeyHash
      + [UInt8(truncatingIfNeeded: topic.count)] + topic + target.deviceToken
    return Base64.encodeURL(key.sealed(bytes, data: SealedEndpoint.purpose))
  }

  /// True if that is the key of the relay that the endpoint was made for.
  func allows(_ relayKey: P256PublicKey) -> Bool { SHA256.hash(relayKey.bytes) == relayKeyHash }
}
