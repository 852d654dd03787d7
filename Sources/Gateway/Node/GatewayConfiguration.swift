import LockstepCrypto
import LockstepModel
import LockstepWebPush

/// Settings of a gateway.
package struct GatewayConfiguration: Sendable {
  /// Scheme and host of the gateway's URLs, as devices and relays reach it.
  package let origin: String
  /// Bundle ids of the apps that it pushes for.
  package let topics: Set<String>
  /// Key of the endpoints, `SIV.keyBytes`.
  let sealingKey: [UInt8]
  package let team: APNsTeam
  /// Takes the place of Apple's servers, for tests.
  package var host: APNsHost?
  /// Proxies whose `X-Forwarded-For` names the client.
  package var trustedProxies: [IPNetwork] = []
  package var version = ""

  /// Bytes of the sealing key.
  package static let sealingKeyBytes = SIV.keyBytes

  /// Returns nil if the key has another length, or the URL has a path.
  package init?(
    publicURL: PushEndpoint, topics: Set<String>, sealingKey: [UInt8], team: APNsTeam
  ) {
    guard sealingKey.count == SIV.keyBytes, publicURL.target == "/" else { return nil }
    origin = publicURL.origin
    self.topics = topics
    self.sealingKey = sealingKey
    self.team = team
  }
}
